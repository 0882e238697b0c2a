package io.weir.cluster.chaos;

import io.weir.cluster.failpoints.CrashPoint;
import io.weir.cluster.failpoints.LoanTrouble;
import io.weir.cluster.failpoints.Sabotage;
import io.weir.cluster.stage.Conditions;
import io.weir.limiter.supply.actor.Failpoints.Step;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The catalogue of faults. Each explains itself in a sentence and, from a {@link FaultDraw}, describes one occurrence
 * of itself; nothing here touches a process. Times are chosen around the lease of 6 s and W, the 6.5 s after which a
 * silent broker is fenced.
 */
public enum Fault {
    KILL(
            Family.KILL,
            Touches.BROKERS,
            "A broker is killed (kill -9) and started again when the others have inherited its share.",
            Fault::kill),
    KILL_QUICK(
            Family.KILL,
            Touches.BROKERS,
            "A broker is killed and started again at once: the lock of its directory proves its old life over, nobody waits.",
            Fault::killQuick),
    KILL_BUDDY(
            Family.KILL,
            Touches.BROKERS,
            "A broker is killed, and its ring successor while it inherits: the next heir gets what both had, once.",
            Fault::killBuddy),
    PAUSE(
            Family.PAUSE,
            Touches.BROKERS,
            "A broker stands still (SIGSTOP) beyond its lease, and wakes up believing that no time has passed.",
            draw -> pause(draw, 8_000, 13_000)),
    PAUSE_SHORT(
            Family.PAUSE,
            Touches.BROKERS,
            "A broker stands still for less than its lease: it goes on, or comes back as a new incarnation.",
            draw -> pause(draw, 1_500, 5_500)),
    DRIVER(
            Family.DRIVER,
            Touches.BROKERS,
            "The media driver of a broker's host is killed and started again: links between brokers break and mend.",
            Fault::driver,
            Means.NETWORK),
    PARTITION_ONE(
            Family.PARTITION,
            Touches.NETWORK,
            "One broker is cut off from all others and from the store, in one step.",
            draw -> partition(draw, draw.brokers(1), false)),
    PARTITION_MINORITY(
            Family.PARTITION,
            Touches.NETWORK,
            "A minority of brokers is cut off from the others and the store; they see each other.",
            draw -> partition(draw, draw.brokers(draw.scene().mostDown()), false)),
    PARTITION_MAJORITY(
            Family.PARTITION,
            Touches.NETWORK,
            "The majority is cut off from the minority, and the store is with the minority.",
            draw -> partition(draw, draw.brokers(draw.scene().mostDown()), true)),
    PARTITION_RING(
            Family.PARTITION,
            Touches.NETWORK,
            "Every broker sees a majority, and no two see the same one; all see the store.",
            Fault::majoritiesRing),
    PARTITION_BRIDGE(
            Family.PARTITION,
            Touches.NETWORK,
            "Two halves see each other through one broker only; the store is on one side.",
            Fault::bridge),
    PARTITION_DEAF(
            Family.PARTITION, Touches.NETWORK, "One broker hears nobody, but all hear it.", draw -> oneWay(draw, true)),
    PARTITION_MUTE(
            Family.PARTITION,
            Touches.NETWORK,
            "One broker is heard by nobody, but hears all.",
            draw -> oneWay(draw, false)),
    PARTITION_STAGGERED(
            Family.PARTITION,
            Touches.NETWORK,
            "A minority is cut off cable by cable, with moments between, and mended the same way.",
            Fault::staggered),
    PARTITION_FLAPPING(
            Family.PARTITION, Touches.NETWORK, "One broker's cable goes out and in again and again.", Fault::flapping),
    PACKET_LOSS(
            Family.PACKET,
            Touches.NETWORK,
            "A part of all frames is lost, everywhere.",
            draw -> packets(
                    draw,
                    draw.scene().everyone(),
                    "%d permille of frames lost everywhere",
                    draw.between(30, 250),
                    n -> new Conditions(false, n, 0, 0, 0, 0))),
    PACKET_DELAY(
            Family.PACKET,
            Touches.NETWORK,
            "Frames from and to one broker take longer than W: what arrives was sent by a life that is over.",
            draw -> packets(
                    draw,
                    draw.brokers(1),
                    "frames take %d ms",
                    draw.between(6_800, 9_000),
                    n -> new Conditions(false, 0, n * 1_000_000L, 0, 0, 0))),
    PACKET_JITTER(
            Family.PACKET,
            Touches.NETWORK,
            "Frames are late everywhere, each by another amount.",
            draw -> packets(
                    draw,
                    draw.scene().everyone(),
                    "frames take up to %d ms more",
                    draw.between(20, 150),
                    n -> new Conditions(false, 0, n * 300_000L, n * 700_000L, 0, 0))),
    PACKET_DUPLICATE(
            Family.PACKET,
            Touches.NETWORK,
            "A part of all frames comes twice, everywhere.",
            draw -> packets(
                    draw,
                    draw.scene().everyone(),
                    "%d permille of frames come twice",
                    draw.between(100, 500),
                    n -> new Conditions(false, 0, 0, 0, n, 0))),
    PACKET_REORDER(
            Family.PACKET,
            Touches.NETWORK,
            "A part of all frames overtakes others, everywhere.",
            draw -> packets(
                    draw,
                    draw.scene().everyone(),
                    "%d permille of frames overtaken",
                    draw.between(100, 400),
                    n -> new Conditions(false, 0, 1_000_000L, 2_000_000L, 0, n))),
    CLOCK_WALL(
            Family.CLOCK,
            Touches.BROKERS,
            "A broker's wall clock jumps by hours and back; nothing may depend on it.",
            Fault::wallClock,
            Means.FAILPOINTS),
    CLOCK_RATE(
            Family.CLOCK,
            Touches.BROKERS,
            "A broker lives with a monotonic clock that runs fast or slow, within the drift that is promised.",
            Fault::clockRate,
            Means.FAILPOINTS),
    STORE_CUT(
            Family.STORE,
            Touches.NETWORK,
            "Nobody reaches the store: at a floor of 0 admission stops with the lease, and nobody is fenced for it afterwards.",
            Fault::storeCut),
    STORE_KILL(
            Family.STORE,
            Touches.STORE,
            "The store is killed and started again: what it acknowledged is there, what it did not is unknown.",
            Fault::storeKill,
            Means.OWN_STORE),
    STORE_PAUSE(
            Family.STORE,
            Touches.STORE,
            "The store stands still: its answers come, but late.",
            Fault::storePause,
            Means.OWN_STORE),
    STORE_SLOW(
            Family.STORE,
            Touches.NETWORK,
            "Every answer of the store takes a good part of a second.",
            Fault::storeSlow),
    STORE_FULL(
            Family.STORE,
            Touches.STORE,
            "The store's disk is full for a while: writes fail, and some of them were done.",
            Fault::storeFull,
            Means.DISK),
    CPU(
            Family.CPU,
            Touches.BROKERS,
            "A broker gets a small part of one core: every time-out is near.",
            Fault::cpu,
            Means.QUOTA),
    LEAVE(
            Family.MEMBERSHIP,
            Touches.BROKERS,
            "A broker leaves in good order and comes back: its buddy inherits at once.",
            Fault::leave),
    JOIN(
            Family.MEMBERSHIP,
            Touches.BROKERS,
            "A new broker joins with nothing, the ring brings it supply, and it leaves again.",
            Fault::join,
            Means.NETWORK),
    LIMIT(Family.MEMBERSHIP, Touches.LIMITS, "A topic's limit is raised and lowered under load.", Fault::limit),
    LIMIT_IN_PARTITION(
            Family.MEMBERSHIP,
            Touches.NETWORK,
            "A topic's limit is raised and lowered while a broker that has a part of it is cut off.",
            Fault::limitInPartition),
    FAILPOINT(
            Family.FAILPOINT,
            Touches.BROKERS,
            "A broker halts in the middle of a named step of the supply protocol, at the next one or at a later one.",
            Fault::failpoint,
            Means.FAILPOINTS),
    FAILPOINT_HEIR(
            Family.FAILPOINT,
            Touches.BROKERS,
            "A broker is killed, and its heir halts half way through inheriting: somebody else ends what it began.",
            Fault::failpointHeir,
            Means.FAILPOINTS),
    LOANS(
            Family.FAILPOINT,
            Touches.LOANS,
            "Frames in which brokers ask each other for tokens and lend some are lost, or come twice.",
            Fault::loans,
            Means.FAILPOINTS),
    MOVE(
            Family.PLACEMENT,
            Touches.HOMES,
            "All publishers of a topic get another broker for their home, and again another, as if two distributors were at odds.",
            Fault::move),
    MOVE_AND_KILL(
            Family.PLACEMENT,
            Touches.BROKERS,
            "All publishers of a topic are moved to a broker that is killed while they come, and started again.",
            Fault::moveAndKill);

    /** What can be asked for by one word. */
    public enum Family {
        KILL,
        PAUSE,
        DRIVER,
        PARTITION,
        PACKET,
        CLOCK,
        STORE,
        CPU,
        MEMBERSHIP,
        FAILPOINT,
        PLACEMENT;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** Two faults at a time must not touch the same. */
    enum Touches {
        BROKERS,
        NETWORK,
        STORE,
        LIMITS,
        LOANS,
        HOMES
    }

    /** Those that every broker comes to within seconds while supply moves. */
    private static final List<Step> FREQUENT = List.of(
            Step.BEFORE_DEBIT,
            Step.AFTER_DEBIT,
            Step.BEFORE_CREDIT,
            Step.AFTER_CREDIT,
            Step.BEFORE_ACKNOWLEDGE,
            Step.AFTER_RENEWAL);

    private static final List<Step> INHERITING = List.of(
            Step.AFTER_FENCE,
            Step.BEFORE_CLOSE,
            Step.AFTER_CLOSE,
            Step.AFTER_CLAIM,
            Step.BEFORE_INHERIT,
            Step.AFTER_INHERIT,
            Step.AFTER_DONE);

    private final Family family;
    private final Touches touches;
    private final String sentence;
    private final Function<FaultDraw, Episode> description;
    private final Set<Means> needs;

    Fault(Family family, Touches touches, String sentence, Function<FaultDraw, Episode> description, Means... more) {
        this.family = family;
        this.touches = touches;
        this.sentence = sentence;
        this.description = description;
        Set<Means> all = new LinkedHashSet<>(Set.of(Means.PROCESSES));
        if (touches == Touches.NETWORK) {
            all.add(Means.NETWORK);
        }
        all.addAll(Arrays.asList(more));
        this.needs = all;
    }

    public Family family() {
        return family;
    }

    Touches touches() {
        return touches;
    }

    public String sentence() {
        return sentence;
    }

    /** What the machine must offer. */
    public Set<Means> needs() {
        return needs;
    }

    /** As users write it: {@code partition-one}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Whether it can happen to this cluster on this machine. */
    public boolean possible(Scene scene) {
        return scene.means().containsAll(needs)
                && scene.brokers().size() >= leastBrokers()
                && (!needsTopic() || !scene.topics().isEmpty());
    }

    private boolean needsTopic() {
        return touches == Touches.LIMITS || this == LIMIT_IN_PARTITION || family == Family.PLACEMENT;
    }

    /** So that who is left is still a majority, and halves are not empty. */
    int leastBrokers() {
        return switch (this) {
            case KILL_BUDDY, FAILPOINT_HEIR -> 5;
            case PARTITION_RING -> 4;
            default -> 3;
        };
    }

    /** One occurrence, beginning at 0. */
    Episode describe(FaultDraw draw) {
        return description.apply(draw);
    }

    /**
     * Those that the words name, each a family or a single fault, in the catalogue's order.
     *
     * @throws IllegalArgumentException for a word that names nothing, with what there is
     */
    public static List<Fault> named(List<String> words) {
        Set<Fault> named = new LinkedHashSet<>();
        for (String word : words) {
            List<Fault> meant = Arrays.stream(values())
                    .filter(fault -> fault.family.toString().equals(word)
                            || fault.toString().equals(word)
                            || word.equals("all"))
                    .toList();
            if (meant.isEmpty()) {
                throw new IllegalArgumentException("there is no fault '" + word + "': one of "
                        + Arrays.stream(Family.values()).map(Family::toString).collect(Collectors.joining(", "))
                        + ", a single one that 'weir chaos list' names, or all");
            }
            named.addAll(meant);
        }
        return named.stream().sorted().toList();
    }

    private static Episode kill(FaultDraw draw) {
        String broker = draw.broker();
        return draw.episode(broker + " killed")
                .befalls(broker)
                .down(broker)
                .then(0, new Act.Kill(broker))
                .then(draw.between(7_500, 12_000), new Act.Start(broker))
                .build();
    }

    private static Episode killQuick(FaultDraw draw) {
        String broker = draw.broker();
        return draw.episode(broker + " killed and started at once")
                .befalls(broker)
                .down(broker)
                .then(0, new Act.Kill(broker))
                .then(draw.between(100, 800), new Act.Start(broker))
                .build();
    }

    private static Episode killBuddy(FaultDraw draw) {
        List<String> ring = draw.scene().brokers();
        int at = draw.between(0, ring.size() - 1);
        String first = ring.get(at);
        String buddy = ring.get((at + 1) % ring.size());
        int secondMs = draw.between(6_000, 8_500);
        int backMs = secondMs + draw.between(7_500, 9_500);
        return draw.episode(first + " killed, then its heir " + buddy)
                .befalls(first, buddy)
                .down(first, buddy)
                .then(0, new Act.Kill(first))
                .then(secondMs, new Act.Kill(buddy))
                .then(backMs, new Act.Start(buddy))
                .then(backMs + FaultSchedule.BETWEEN_STARTS_MS, new Act.Start(first))
                .build();
    }

    private static Episode pause(FaultDraw draw, int leastMs, int mostMs) {
        String broker = draw.broker();
        int forMs = draw.between(leastMs, mostMs);
        return draw.episode(String.format(Locale.ROOT, "%s stands still for %.1f s", broker, forMs / 1e3))
                .befalls(broker)
                .down(broker)
                .then(0, new Act.Pause(broker))
                .then(forMs, new Act.Resume(broker))
                .build();
    }

    private static Episode driver(FaultDraw draw) {
        String broker = draw.broker();
        return draw.episode("the media driver of " + broker + " killed")
                .befalls(broker)
                .then(0, new Act.KillDriver(broker))
                .then(draw.between(500, 6_000), new Act.StartDriver(broker))
                .build();
    }

    /** @param storeWithThem whether the store is on the side of {@code few} */
    private static Episode partition(FaultDraw draw, List<String> few, boolean storeWithThem) {
        List<String> side = new ArrayList<>(few);
        if (storeWithThem) {
            side.add(draw.scene().store());
        }
        List<String> rest = draw.othersThan(side);
        return draw.episode(draw.sides(side, rest))
                .befalls(storeWithThem ? rest : side)
                .then(0, new Act.Links(Cuts.between(side, rest)))
                .then(draw.between(8_000, 15_000), new Act.Links(Map.of()))
                .build();
    }

    private static Episode majoritiesRing(FaultDraw draw) {
        List<String> ring = draw.shuffled();
        return draw.episode("each sees a majority of its own: " + String.join(" ", ring))
                .befalls(ring)
                .then(0, new Act.Links(Cuts.majoritiesRing(ring)))
                .then(draw.between(8_000, 14_000), new Act.Links(Map.of()))
                .build();
    }

    private static Episode bridge(FaultDraw draw) {
        List<String> all = draw.shuffled();
        String bridge = all.get(0);
        int half = 1 + (all.size() - 1) / 2;
        List<String> left = new ArrayList<>(all.subList(1, half));
        List<String> right = new ArrayList<>(all.subList(half, all.size()));
        (draw.coin() ? left : right).add(draw.scene().store());
        return draw.episode(String.join(" ", left) + " | " + String.join(" ", right) + ", " + bridge + " sees both")
                .befalls(all)
                .then(0, new Act.Links(Cuts.between(left, right)))
                .then(draw.between(8_000, 14_000), new Act.Links(Map.of()))
                .build();
    }

    private static Episode oneWay(FaultDraw draw, boolean deaf) {
        String broker = draw.broker();
        List<String> rest = draw.othersThan(List.of(broker));
        return draw.episode(broker + (deaf ? " hears nobody" : " is heard by nobody"))
                .befalls(broker)
                .then(0, new Act.Links(deaf ? Cuts.oneWay(rest, List.of(broker)) : Cuts.oneWay(List.of(broker), rest)))
                .then(draw.between(8_000, 14_000), new Act.Links(Map.of()))
                .build();
    }

    private static Episode staggered(FaultDraw draw) {
        List<String> few = draw.brokers(draw.scene().mostDown());
        List<String> rest = draw.othersThan(few);
        FaultDraw.Telling telling =
                draw.episode(draw.sides(few, rest) + ", cable by cable").befalls(few);
        int atMs = 0;
        List<String> cut = new ArrayList<>();
        for (String other : rest) {
            cut.add(other);
            telling.then(atMs, new Act.Links(Cuts.between(few, cut)));
            atMs += draw.between(300, 1_500);
        }
        atMs += draw.between(7_000, 11_000);
        for (String other : rest) {
            cut.remove(other);
            telling.then(atMs, new Act.Links(Cuts.between(few, cut)));
            atMs += draw.between(300, 1_500);
        }
        return telling.build();
    }

    private static Episode flapping(FaultDraw draw) {
        String broker = draw.broker();
        List<String> rest = draw.othersThan(List.of(broker));
        int times = draw.between(3, 6);
        FaultDraw.Telling telling = draw.episode("the cable of " + broker + " goes out and in " + times + " times")
                .befalls(broker);
        int atMs = 0;
        for (int i = 0; i < times; i++) {
            telling.then(atMs, new Act.Links(Cuts.between(List.of(broker), rest)));
            atMs += draw.between(400, 3_000);
            telling.then(atMs, new Act.Links(Map.of()));
            atMs += draw.between(300, 2_000);
        }
        return telling.build();
    }

    private static Episode packets(
            FaultDraw draw, List<String> whose, String what, int amount, Function<Integer, Conditions> of) {
        boolean everywhere = whose.size() > 1;
        List<String> others = everywhere ? whose : draw.othersThan(whose);
        return draw.episode((everywhere ? "" : whose.get(0) + ": ") + String.format(Locale.ROOT, what, amount))
                .befalls(everywhere ? draw.scene().brokers() : whose)
                .then(0, new Act.Links(Cuts.conditions(whose, others, of.apply(amount))))
                .then(draw.between(7_000, 13_000), new Act.Links(Map.of()))
                .build();
    }

    private static Episode wallClock(FaultDraw draw) {
        String broker = draw.broker();
        // Hours: far more than a run lasts, so that what was written meanwhile can be told from what was not.
        long offsetS = draw.between(3, 30) * 3_600L * (draw.coin() ? 1 : -1);
        return draw.episode(String.format(Locale.ROOT, "the wall clock of %s jumps by %+d h", broker, offsetS / 3_600))
                .befalls(broker)
                .then(0, new Act.WallClock(broker, offsetS))
                .then(draw.between(5_000, 10_000), new Act.WallClock(broker, 0))
                .build();
    }

    private static Episode clockRate(FaultDraw draw) {
        String broker = draw.broker();
        double rate = 1 + (draw.coin() ? 1 : -1) * draw.between(500, 999) / 1e6;
        int untilMs = draw.between(14_000, 20_000);
        return draw.episode(String.format(Locale.ROOT, "the clock of %s runs at %.6f of real time", broker, rate))
                .befalls(broker)
                .down(broker)
                .then(0, new Act.Kill(broker))
                .then(
                        200,
                        new Act.Start(broker, Sabotage.NONE.withClockRate(rate).environment()))
                .then(untilMs, new Act.Kill(broker))
                .then(untilMs + 200, new Act.Start(broker))
                .build();
    }

    private static Episode storeCut(FaultDraw draw) {
        List<String> store = List.of(draw.scene().store());
        int forMs = draw.between(3_000, 12_000);
        return draw.episode(String.format(Locale.ROOT, "the store is out of reach for %.1f s", forMs / 1e3))
                .befalls(store)
                .then(0, new Act.Links(Cuts.between(store, draw.othersThan(store))))
                .then(forMs, new Act.Links(Map.of()))
                .build();
    }

    private static Episode storeKill(FaultDraw draw) {
        return draw.episode("the store is killed")
                .befalls(draw.scene().store())
                .then(0, new Act.KillStore())
                .then(draw.between(500, 7_000), new Act.StartStore())
                .build();
    }

    private static Episode storePause(FaultDraw draw) {
        int forMs = draw.between(2_000, 9_000);
        return draw.episode(String.format(Locale.ROOT, "the store stands still for %.1f s", forMs / 1e3))
                .befalls(draw.scene().store())
                .then(0, new Act.PauseStore())
                .then(forMs, new Act.ResumeStore())
                .build();
    }

    private static Episode storeSlow(FaultDraw draw) {
        List<String> store = List.of(draw.scene().store());
        int ms = draw.between(150, 700);
        Conditions late = new Conditions(false, 0, ms * 1_000_000L, ms * 200_000L, 0, 0);
        return draw.episode("the store answers " + ms + " ms late")
                .befalls(store)
                .then(0, new Act.Links(Cuts.conditionsOneWay(store, draw.othersThan(store), late)))
                .then(draw.between(8_000, 14_000), new Act.Links(Map.of()))
                .build();
    }

    private static Episode storeFull(FaultDraw draw) {
        return draw.episode("the store's disk is full")
                .befalls(draw.scene().store())
                .then(0, new Act.FillDisk())
                .then(draw.between(3_000, 10_000), new Act.FreeDisk())
                .build();
    }

    private static Episode cpu(FaultDraw draw) {
        String broker = draw.broker();
        int percent = draw.between(4, 15);
        return draw.episode(broker + " gets " + percent + "% of a core")
                .befalls(broker)
                .then(0, new Act.Quota(broker, percent))
                .then(draw.between(8_000, 14_000), new Act.NoQuota(broker))
                .build();
    }

    private static Episode leave(FaultDraw draw) {
        String broker = draw.broker();
        return draw.episode(broker + " leaves and comes back")
                .befalls(broker)
                .down(broker)
                .then(0, new Act.Leave(broker))
                .then(draw.between(9_000, 13_000), new Act.Start(broker))
                .build();
    }

    private static Episode join(FaultDraw draw) {
        String spare = draw.scene().spare();
        return draw.episode(spare + " joins, and leaves again")
                .befalls(spare)
                .then(0, new Act.Join(spare))
                .then(draw.between(14_000, 20_000), new Act.Leave(spare))
                .build();
    }

    private static Episode limit(FaultDraw draw) {
        String topic = draw.topic();
        double factor = draw.factor();
        return draw.episode(String.format(Locale.ROOT, "the limit of %s becomes %.2f times itself", topic, factor))
                .befalls(List.of())
                .then(0, new Act.ChangeLimit(topic, factor))
                .then(draw.between(5_000, 9_000), new Act.ChangeLimit(topic, 1))
                .build();
    }

    private static Episode limitInPartition(FaultDraw draw) {
        String broker = draw.broker();
        String topic = draw.topic();
        double factor = draw.factor();
        List<String> rest = draw.othersThan(List.of(broker));
        int cutMs = draw.between(9_000, 14_000);
        return draw.episode(String.format(
                        Locale.ROOT,
                        "%s, and meanwhile the limit of %s becomes %.2f times itself",
                        draw.sides(List.of(broker), rest),
                        topic,
                        factor))
                .befalls(broker)
                .then(0, new Act.Links(Cuts.between(List.of(broker), rest)))
                .then(draw.between(500, 7_500), new Act.ChangeLimit(topic, factor))
                .then(cutMs, new Act.Links(Map.of()))
                .then(cutMs + draw.between(0, 4_000), new Act.ChangeLimit(topic, 1))
                .build();
    }

    /** At the step's next occurrence or a later one; if it does not come, nothing happens. */
    private static Episode failpoint(FaultDraw draw) {
        String broker = draw.broker();
        CrashPoint point = CrashPoint.sometimes(draw.oneOf(FREQUENT), draw.between(2, 10) / 10.0, draw.seed());
        return draw.episode(broker + " halts at " + point.step().key())
                .befalls(broker)
                .down(broker)
                .then(0, new Act.Arm(broker, point))
                .then(draw.between(9_000, 14_000), new Act.Disarm(broker))
                .then(draw.between(14_500, 17_000), new Act.Start(broker))
                .build();
    }

    private static Episode failpointHeir(FaultDraw draw) {
        List<String> ring = draw.scene().brokers();
        int at = draw.between(0, ring.size() - 1);
        String victim = ring.get(at);
        String heir = ring.get((at + 1) % ring.size());
        CrashPoint point = CrashPoint.nth(draw.oneOf(INHERITING), 1);
        int backMs = draw.between(15_000, 18_000);
        return draw.episode(victim + " killed, and its heir " + heir + " halts at "
                        + point.step().key())
                .befalls(victim, heir)
                .down(victim, heir)
                .then(0, new Act.Arm(heir, point))
                .then(100, new Act.Kill(victim))
                .then(backMs - 500, new Act.Disarm(heir))
                .then(backMs, new Act.Start(heir))
                .then(backMs + FaultSchedule.BETWEEN_STARTS_MS, new Act.Start(victim))
                .build();
    }

    private static Episode loans(FaultDraw draw) {
        List<String> brokers = draw.coin() ? draw.scene().brokers() : List.of(draw.broker());
        LoanTrouble trouble = new LoanTrouble(draw.between(0, 4) / 10.0, draw.between(1, 5) / 10.0, draw.seed());
        int untilMs = draw.between(8_000, 14_000);
        FaultDraw.Telling telling = draw.episode("loans of " + String.join(", ", brokers) + ": " + trouble)
                .befalls(brokers);
        brokers.forEach(broker -> telling.then(0, new Act.Loans(broker, trouble)));
        brokers.forEach(broker -> telling.then(untilMs, new Act.Loans(broker, LoanTrouble.NONE)));
        return telling.build();
    }

    private static Episode move(FaultDraw draw) {
        String topic = draw.topic();
        List<String> homes = draw.shuffled();
        FaultDraw.Telling telling = draw.episode("publishers of " + topic + " move to " + String.join(", then ", homes))
                .befalls(List.of());
        long atMs = 0;
        for (String home : homes) {
            telling.then(atMs, new Act.Move(topic, home));
            atMs += draw.between(300, 3_000);
        }
        return telling.build();
    }

    private static Episode moveAndKill(FaultDraw draw) {
        String topic = draw.topic();
        String broker = draw.broker();
        int killMs = draw.between(100, 2_500);
        return draw.episode("publishers of " + topic + " move to " + broker + ", which is killed")
                .befalls(broker)
                .down(broker)
                .then(0, new Act.Move(topic, broker))
                .then(killMs, new Act.Kill(broker))
                .then(killMs + draw.between(7_500, 12_000), new Act.Start(broker))
                .build();
    }
}
