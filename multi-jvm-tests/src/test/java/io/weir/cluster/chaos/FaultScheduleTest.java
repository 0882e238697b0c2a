package io.weir.cluster.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.cluster.failpoints.LoanTrouble;
import io.weir.cluster.stage.Conditions;
import io.weir.cluster.stage.Network.Direction;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.assertj.core.description.Description;
import org.assertj.core.description.LazyTextDescription;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FaultScheduleTest {
    private static final List<Fault> ALL = List.of(Fault.values());
    private static final Duration LONG = Duration.ofMinutes(30);

    private static Scene scene(int brokers) {
        return Scene.of(brokers, List.of("busy", "deep"), EnumSet.allOf(Means.class));
    }

    @Test
    void shouldBeTheSameWhenSeedAndOptionsAre() {
        for (long seed = 1; seed <= 50; seed++) {
            assertThat(FaultSchedule.of(seed, scene(5), ALL, LONG))
                    .isEqualTo(FaultSchedule.of(seed, scene(5), ALL, LONG));
        }
    }

    @Test
    void shouldDifferWhenTheSeedDoes() {
        Set<Object> texts = LongStream.rangeClosed(1, 50)
                .mapToObj(seed -> FaultSchedule.of(seed, scene(5), ALL, LONG).episodes())
                .collect(Collectors.toSet());
        assertThat(texts).hasSize(50);
    }

    @Test
    void shouldHaveEveryFaultWhenThereIsTime() {
        Set<Fault> seen = FaultSchedule.of(7, scene(5), ALL, LONG).episodes().stream()
                .map(Episode::fault)
                .collect(Collectors.toSet());
        assertThat(seen).containsAll(ALL);
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 4, 5, 7})
    void shouldEndEveryFaultAndLeaveAMajorityUp(int brokers) {
        for (long seed = 1; seed <= 200; seed++) {
            FaultSchedule schedule = FaultSchedule.of(seed, scene(brokers), ALL, Duration.ofMinutes(10));
            World world = new World(scene(brokers), seed);
            schedule.timed().forEach(world::carryOut);
            world.assertWhole();
            assertThat(schedule.timed().get(schedule.timed().size() - 1).atMs())
                    .as("seed " + seed)
                    .isLessThanOrEqualTo(Duration.ofMinutes(10).toMillis());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 5})
    void shouldStartProcessesOneAfterTheOther(int brokers) {
        for (long seed = 1; seed <= 200; seed++) {
            List<Long> starts = FaultSchedule.of(seed, scene(brokers), ALL, Duration.ofMinutes(10)).episodes().stream()
                    .flatMap(episode -> FaultSchedule.starts(episode).stream())
                    .sorted()
                    .toList();
            for (int i = 1; i < starts.size(); i++) {
                assertThat(starts.get(i) - starts.get(i - 1))
                        .as("seed " + seed + ", start " + i)
                        .isGreaterThanOrEqualTo(FaultSchedule.BETWEEN_STARTS_MS);
            }
        }
    }

    @Test
    void shouldNotTouchTheSameThingTwiceAtATime() {
        for (long seed = 1; seed <= 100; seed++) {
            List<Episode> episodes = FaultSchedule.of(seed, scene(5), ALL, LONG).episodes();
            int together = 0;
            for (int i = 1; i < episodes.size(); i++) {
                if (episodes.get(i).startMs() <= episodes.get(i - 1).endMs()) {
                    together++;
                    assertThat(episodes.get(i).fault().touches())
                            .as("seed " + seed)
                            .isNotEqualTo(episodes.get(i - 1).fault().touches());
                }
            }
            assertThat(together).as("companions of seed " + seed).isPositive();
        }
    }

    @Test
    void shouldOfferOnlyWhatTheMachineCanDo() {
        Scene poor = Scene.of(3, List.of("busy"), Set.of(Means.PROCESSES));
        FaultSchedule.of(1, poor, ALL, LONG)
                .episodes()
                .forEach(episode -> assertThat(episode.fault().needs()).containsExactly(Means.PROCESSES));
        assertThatThrownBy(() -> FaultSchedule.of(1, poor, List.of(Fault.PARTITION_ONE, Fault.CPU), LONG))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("partition-one");
    }

    @Test
    void shouldUnderstandFamiliesAndSingleFaults() {
        assertThat(Fault.named(List.of("pause", "kill-quick")))
                .containsExactly(Fault.KILL_QUICK, Fault.PAUSE, Fault.PAUSE_SHORT);
        assertThat(Fault.named(List.of("all"))).containsExactly(Fault.values());
        assertThatThrownBy(() -> Fault.named(List.of("kil")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'kil'")
                .hasMessageContaining("partition");
    }

    @Test
    void shouldSayWhatItIsWhenListed() {
        assertThat(Arrays.stream(Fault.values()).map(Fault::sentence))
                .doesNotHaveDuplicates()
                .allMatch(sentence -> sentence.endsWith(".") && sentence.length() > 30);
    }

    @Test
    void shouldShowEveryoneAnotherMajorityInARing() {
        for (int brokers = 4; brokers <= 9; brokers++) {
            List<String> all = scene(brokers).brokers();
            Map<Direction, Conditions> table = Cuts.majoritiesRing(all);
            Set<Set<String>> views = new HashSet<>();
            for (String one : all) {
                Set<String> seen = all.stream()
                        .filter(other -> !table.containsKey(new Direction(one, other)))
                        .collect(Collectors.toCollection(TreeSet::new));
                assertThat(seen).as(one + " of " + brokers).hasSizeGreaterThan(brokers / 2);
                assertThat(seen.size()).as(one + " of " + brokers).isLessThan(brokers);
                views.add(seen);
            }
            assertThat(views).as("different majorities of " + brokers).hasSize(brokers);
        }
    }

    /** What the acts make of a cluster, as far as a process's life, links, disk, clocks and limits go. */
    private static final class World {
        private final Scene scene;
        private final long seed;
        private final Set<String> dead = new HashSet<>();
        private final Set<String> paused = new HashSet<>();
        private final Set<String> joined = new HashSet<>();
        private final Set<String> driverless = new HashSet<>();
        private final Set<String> squeezed = new HashSet<>();
        private final Map<String, Object> odd = new HashMap<>();
        private Map<Direction, Conditions> links = Map.of();

        World(Scene scene, long seed) {
            this.scene = scene;
            this.seed = seed;
        }

        void carryOut(FaultSchedule.Timed timed) {
            Act act = timed.act();
            if (act instanceof Act.Kill kill) {
                dead.add(kill.broker());
            } else if (act instanceof Act.Start start) {
                dead.remove(start.broker());
                odd.remove("environment of " + start.broker());
                if (!start.environment().isEmpty()) {
                    odd.put("environment of " + start.broker(), start.environment());
                }
            } else if (act instanceof Act.Pause pause) {
                paused.add(pause.broker());
            } else if (act instanceof Act.Resume resume) {
                paused.remove(resume.broker());
            } else if (act instanceof Act.Leave leave) {
                if (!joined.remove(leave.broker())) {
                    dead.add(leave.broker());
                }
            } else if (act instanceof Act.Join join) {
                assertThat(joined.add(join.broker())).as(about(timed)).isTrue();
            } else if (act instanceof Act.KillDriver kill) {
                driverless.add(kill.broker());
            } else if (act instanceof Act.StartDriver start) {
                driverless.remove(start.broker());
            } else if (act instanceof Act.Links all) {
                links = all.conditions();
            } else if (act instanceof Act.Quota quota) {
                squeezed.add(quota.broker());
            } else if (act instanceof Act.NoQuota quota) {
                squeezed.remove(quota.broker());
            } else if (act instanceof Act.Arm arm) {
                // It dies at a moment that nobody knows, if at all.
                dead.add(arm.broker());
                odd.put("crash point of " + arm.broker(), arm.point());
            } else if (act instanceof Act.Disarm disarm) {
                odd.remove("crash point of " + disarm.broker());
            } else if (act instanceof Act.WallClock clock) {
                mark("wall clock of " + clock.broker(), clock.offsetSeconds(), 0L);
            } else if (act instanceof Act.Loans loans) {
                mark("loans of " + loans.broker(), loans.trouble(), LoanTrouble.NONE);
            } else if (act instanceof Act.ChangeLimit limit) {
                mark("limit of " + limit.topic(), limit.factor(), 1.0);
            } else if (act instanceof Act.Move move) {
                // Wherever they are at home they are served: nothing has to be undone.
                assertThat(scene.brokers()).as(about(timed)).contains(move.broker());
                assertThat(scene.topics()).as(about(timed)).contains(move.topic());
            } else if (act instanceof Act.KillStore || act instanceof Act.PauseStore || act instanceof Act.FillDisk) {
                mark("store", act, null);
            } else {
                assertThat(act)
                        .as(about(timed))
                        .isInstanceOfAny(Act.StartStore.class, Act.ResumeStore.class, Act.FreeDisk.class);
                odd.remove("store");
            }
            Set<String> down = new TreeSet<>(dead);
            down.addAll(paused);
            assertThat(scene.brokers()).as(about(timed)).containsAll(down);
            assertThat(scene.brokers().size() - down.size())
                    .as(about(timed))
                    .isGreaterThan(scene.brokers().size() / 2);
        }

        private void mark(String what, Object value, Object usual) {
            if (value.equals(usual)) {
                odd.remove(what);
            } else {
                odd.put(what, value);
            }
        }

        void assertWhole() {
            assertThat(dead).as("dead, seed " + seed).isEmpty();
            assertThat(paused).as("paused, seed " + seed).isEmpty();
            assertThat(joined).as("joined, seed " + seed).isEmpty();
            assertThat(driverless).as("driverless, seed " + seed).isEmpty();
            assertThat(squeezed).as("squeezed, seed " + seed).isEmpty();
            assertThat(odd).as("odd, seed " + seed).isEmpty();
            assertThat(links).as("links, seed " + seed).isEmpty();
        }

        private Description about(FaultSchedule.Timed timed) {
            // Put together only when it is needed: there are many.
            return new LazyTextDescription(() -> "seed " + seed + ", " + timed);
        }
    }
}
