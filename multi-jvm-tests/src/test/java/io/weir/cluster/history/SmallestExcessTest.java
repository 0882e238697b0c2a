package io.weir.cluster.history;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.cluster.history.LimitCourse.Change;
import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class SmallestExcessTest {
    private static final TopicName TOPIC = new TopicName("orders");
    private static final long M = Limit.MICROS;

    private static Admission at(long ns, int tokens) {
        return new Admission(new BrokerId("b1"), 1, TOPIC, ns, tokens, false, 1);
    }

    /** By the definition, in doubles that are exact for the small whole numbers here: b + r·t and nothing else. */
    private static Optional<long[]> bruteForce(List<Admission> all, double rate, double burst) {
        long[] best = null;
        for (int i = 0; i < all.size(); i++) {
            long tokens = 0;
            for (int j = i; j < all.size(); j++) {
                tokens += all.get(j).tokens();
                long lengthNs = all.get(j).stampNs() - all.get(i).stampNs();
                if (tokens * 1e9 > burst * 1e9 + rate * lengthNs && (best == null || lengthNs < best[0])) {
                    best = new long[] {lengthNs, i, j};
                }
            }
        }
        return Optional.ofNullable(best);
    }

    @Test
    void shouldFindWhatTryingEveryWindowFinds() {
        int violated = 0;
        for (long seed = 1; seed <= 2_000; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            int rate = 1 + random.nextInt(20);
            int burst = 1 + random.nextInt(6);
            List<Admission> all = new ArrayList<>();
            long now = random.nextLong(-3_000_000_000L, 3_000_000_000L);
            LimitCourse course = new LimitCourse(Limit.of(rate, burst), now);
            for (int i = random.nextInt(40); i >= 0; i--) {
                now += random.nextInt(4) == 0 ? 0 : random.nextLong(2_400_000_000L / rate);
                all.add(at(now, 1 + random.nextInt(2)));
            }
            Optional<long[]> expected = bruteForce(all, rate, burst);
            Optional<SmallestExcess.Found> found = SmallestExcess.in(all, course.changes());

            assertThat(found.isPresent()).as("seed %d", seed).isEqualTo(expected.isPresent());
            if (found.isPresent()) {
                violated++;
                long lengthNs = all.get(found.get().to()).stampNs()
                        - all.get(found.get().from()).stampNs();
                assertThat(lengthNs).as("seed %d", seed).isEqualTo(expected.get()[0]);
                assertThat(bruteForce(
                                all.subList(found.get().from(), found.get().to() + 1), rate, burst))
                        .as("seed %d: the window alone shows it", seed)
                        .isPresent();
            }
        }
        assertThat(violated).as("of 2000").isBetween(300, 1_900);
    }

    /** While limits change: every window from a full bucket by a bucket in billionths of a micro-token. */
    @Test
    void shouldFindWhatTryingEveryWindowFindsWhileTheLimitChanges() {
        int violated = 0;
        for (long seed = 1; seed <= 500; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            LimitCourse course = new LimitCourse(Limit.of(1 + random.nextInt(9), 1 + random.nextInt(4)), 0);
            List<Admission> all = new ArrayList<>();
            long now = 0;
            for (int i = 0; i < 30; i++) {
                now += random.nextLong(400_000_000L);
                all.add(at(now, 1));
                if (random.nextInt(8) == 0) {
                    course.changed(Limit.of(1 + random.nextInt(9), 1 + random.nextInt(4)), now - 100_000_000L, now + 1);
                }
            }
            List<Change> changes = course.changes();
            long best = Long.MAX_VALUE;
            for (int i = 0; i < all.size(); i++) {
                int end = firstExcess(all, i, changes);
                if (end >= 0) {
                    best = Math.min(best, all.get(end).stampNs() - all.get(i).stampNs());
                }
            }
            Optional<SmallestExcess.Found> found = SmallestExcess.in(all, changes);
            assertThat(found.map(each ->
                            all.get(each.to()).stampNs() - all.get(each.from()).stampNs()))
                    .as("seed %d", seed)
                    .isEqualTo(best == Long.MAX_VALUE ? Optional.empty() : Optional.of(best));
            violated += found.isPresent() ? 1 : 0;
        }
        assertThat(violated).as("of 500").isBetween(100, 499);
    }

    private static int firstExcess(List<Admission> all, int from, List<Change> changes) {
        double rate = 0;
        double burst = 0;
        double level = 0;
        long last = Long.MIN_VALUE;
        int next = 0;
        for (int i = from; i < all.size(); i++) {
            long now = all.get(i).stampNs();
            while (next < changes.size() && changes.get(next).atNs() <= now) {
                Change change = changes.get(next++);
                boolean before = i == from && from > 0;
                level = before
                        ? 0
                        : Math.min(burst, level + (last == Long.MIN_VALUE ? 0 : rate * (change.atNs() - last) / 1e9));
                rate += change.rateMicros();
                burst += change.burstMicros();
                level = before ? burst : Math.min(burst, level + change.levelMicros());
                last = change.atNs();
            }
            if (i == from && from > 0) {
                level = burst;
            } else {
                level = Math.min(burst, level + rate * (now - last) / 1e9);
            }
            last = now;
            level -= all.get(i).tokens() * (double) M;
            if (level < -1e-3) {
                return i;
            }
        }
        return -1;
    }

    @Test
    void shouldPreferTheShortestOfManyWindows() {
        List<Admission> all = new ArrayList<>();
        for (long second = 0; second < 10; second++) {
            all.add(at(second * 1_000_000_000L, 1));
            all.add(at(second * 1_000_000_000L + 50_000_000L - second * 1_000_000L, 1));
        }
        SmallestExcess.Found found = SmallestExcess.in(all, new LimitCourse(Limit.of(10, 1), 0).changes())
                .orElseThrow();

        assertThat(found).isEqualTo(new SmallestExcess.Found(18, 19, 2, 10, true));
    }
}
