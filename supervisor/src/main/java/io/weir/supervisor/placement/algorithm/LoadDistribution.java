package io.weir.supervisor.placement.algorithm;

import io.weir.supervisor.placement.algorithm.Reason.Rule;
import io.weir.supervisor.placement.algorithm.SequentialTest.Verdict;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * How one topic finds its brokers: SRTM's Load Distributor (4.2) as a state machine that takes measurements and the
 * time, and answers with assignments to apply.
 *
 * <pre>
 *  broker    | measured: violates                 | measured: fits
 *  OPEN      | SEARCHING, tries fewer publishers  | OPEN; may get some of the excess later
 *  SEARCHING | SEARCHING, fewer; or FULL          | FULL if snug (within 20% below the objective), else SEARCHING, more; or FULL
 *  FULL      |            (not measured any more)
 *
 *  run       | a broker searches    | none searches, all fit, all placed  | publishers left, no open broker left
 *  MEASURING | MEASURING            | FITTED                              | KEPT_BEST
 * </pre>
 *
 * <p>What a searching broker sheds goes to the open brokers at once, by steps 1 and 2 for that rate (ua.rate), so that
 * every publisher is served during the search and the next iteration has begun already. Several brokers search at the
 * same time (the paper's footnote 6).
 *
 * <p>Two things are faster than in the paper, each of which {@link Settings} can switch off: with a {@link Forecast} it
 * starts from the fewest brokers that are forecast to fit instead of those that fit by rate alone; and a round ends
 * when {@link SequentialTest} is clear.
 *
 * <p>A binary search takes for granted that fewer publishers are faster. With a split limit they may be slower, since
 * the share that goes with them is smaller too (the DRL penalty): a search that sees this gives up, and the broker
 * keeps what was measured to fit.
 *
 * <p>It ends: a search halves what is between what fitted and what did not, a full broker never opens again, and a
 * round ends at its deadline.
 */
public final class LoadDistribution {
    /** Up to so many times the tolerated part, a violation is a slight one: it takes a fifth away, not half. */
    private static final double SLIGHT = 3;

    private static final double SLIGHT_STEP = 0.8;

    /**
     * If so many times more messages are too slow with fewer publishers, it is the smaller share of the limit that
     * slows them.
     */
    private static final double WORSE = 1.2;

    /** A broker that was promised to hold twice of what it held has a wrong capacity. */
    private static final double CONTRADICTED = 0.5;

    /** How far the run is. */
    public enum State {
        MEASURING,
        /** Every publisher is placed, every broker meets the objective. */
        FITTED,
        /**
         * Brokers ran out, or publishers are too large: the best assignment is kept, and a hint for an autoscaler
         * given.
         */
        KEPT_BEST
    }

    private enum Role {
        OPEN,
        SEARCHING,
        FULL,
        GONE
    }

    /**
     * @param settleNs what is measured so soon after a new assignment does not count: queues of the old one drain
     * @param mostNs a round lasts so long at most
     * @param early whether a round ends as soon as it is clear
     */
    public record Settings(long settleNs, long mostNs, boolean early) {
        /** Rounds of 60 s, and two more for moving: SRTM 6.5 took 62 s a round. */
        public static final Settings PAPER = new Settings(2_000_000_000L, 60_000_000_000L, false);

        public static final Settings DEFAULT = new Settings(2_000_000_000L, 60_000_000_000L, true);
    }

    private final PlacedTopic topic;
    private final TopicMembers members;
    private final BrokerCapacities brokers;
    private final Policy policy;
    private final Forecast forecast;
    private final Settings settings;
    private final Planner planner;
    private final RandomGenerator random;
    private final List<Reason> reasons = new ArrayList<>();

    private final Role[] roles;
    private final BrokerSearch[] searches;
    private final SequentialTest[] tests;
    /** How many publishers were measured to fit. */
    private final int[] fitted;

    private final boolean[] contradicted;
    private Assignment assignment;
    /** The homes when the searches that are going on began: what open brokers have beyond them is only lent to them. */
    private int[] settled;

    private Assignment best;
    private double bestWorst = Double.POSITIVE_INFINITY;
    private State state = State.MEASURING;
    private int round = 1;
    private long roundBeganNs;
    private final int firstBrokers;
    /** Publishers that are larger than any broker's room, which no search can change. */
    private final int tooLarge;

    /**
     * @param brokers with what other topics were given, without this one
     * @param forecast empty: begin from rates alone, as the paper does
     */
    public LoadDistribution(
            PlacedTopic topic,
            TopicMembers members,
            BrokerCapacities brokers,
            Policy policy,
            Optional<Forecast> forecast,
            Settings settings,
            RandomGenerator random,
            long nowNs) {
        this.topic = topic;
        this.members = members;
        this.brokers = brokers;
        this.policy = policy;
        this.forecast = forecast.orElse(null);
        this.settings = settings;
        this.random = random;
        this.planner = new Planner(policy, random);
        int count = brokers.size();
        this.roles = new Role[count];
        Arrays.fill(roles, Role.OPEN);
        this.searches = new BrokerSearch[count];
        this.tests = new SequentialTest[count];
        this.fitted = new int[count];
        this.contradicted = new boolean[count];
        int[] nowhere = new int[members.size()];
        Arrays.fill(nowhere, Assignment.UNPLACED);
        this.assignment = new Assignment(members, nowhere, count, 0);
        become(place(nowhere, 0), nowNs);
        firstBrokers = assignment.brokersUsed();
        tooLarge = countTooLarge(members, brokers);
        if (members.size() == 0) {
            state = State.FITTED;
            reasons.add(new Reason(0, Rule.NO_PUBLISHERS, Reason.NO_BROKER, 0, 0));
        } else if (assignment.brokersUsed() == 0) {
            keepBest();
        }
    }

    private static int countTooLarge(TopicMembers members, BrokerCapacities brokers) {
        double most = Arrays.stream(brokers.rcaps()).max().orElse(0);
        int count = 0;
        for (int m = 0; m < members.size(); m++) {
            count += members.rate(m) > most ? 1 : 0;
        }
        return count;
    }

    public State state() {
        return state;
    }

    /** What to apply now; when the revision has grown it is another one. */
    public Assignment assignment() {
        return assignment;
    }

    /** The round of measuring that is going on, or that was the last. */
    public int round() {
        return round;
    }

    /** How many brokers it began with. */
    public int firstBrokers() {
        return firstBrokers;
    }

    /** Whether measurements of this broker are waited for. */
    public boolean measures(int broker) {
        return state == State.MEASURING && tests[broker] != null && tests[broker].verdict() == Verdict.OPEN;
    }

    /** Whether what the broker holds contradicts the capacity that it claimed or was forecast. */
    public boolean contradicted(int broker) {
        return contradicted[broker];
    }

    /** Everything that was decided, in order. */
    public List<Reason> reasons() {
        return List.copyOf(reasons);
    }

    /**
     * A broker's window. Windows of an earlier assignment, or that began before the queues had settled, are ignored.
     */
    public void onMeasurement(int broker, Measurement window, long nowNs) {
        boolean counts = measures(broker)
                && window.revision() == assignment.revision()
                && window.fromNs() - roundBeganNs >= settings.settleNs();
        if (counts) {
            tests[broker].add(window);
        }
        onTime(nowNs);
    }

    /** Ends the round if all is clear, or if its time is over. */
    public void onTime(long nowNs) {
        if (state != State.MEASURING) {
            return;
        }
        boolean over = nowNs - roundBeganNs >= settings.settleNs() + settings.mostNs();
        boolean clear = true;
        for (int broker = 0; broker < roles.length; broker++) {
            clear &= !measures(broker);
        }
        if (clear || over) {
            endRound(nowNs);
        }
    }

    /** A broker died or left: its publishers go elsewhere, and the round begins again. */
    public void onBrokerGone(int broker, long nowNs) {
        if (roles[broker] == Role.GONE) {
            return;
        }
        roles[broker] = Role.GONE;
        searches[broker] = null;
        best = null;
        bestWorst = Double.POSITIVE_INFINITY;
        settled = assignment.homes();
        if (assignment.publishers(broker) > 0) {
            state = State.MEASURING;
            int[] homes = assignment.homes().clone();
            release(homes, broker);
            become(place(homes, round), nowNs);
            if (assignment.brokersUsed() == 0) {
                keepBest();
            }
        }
    }

    private void endRound(long nowNs) {
        rememberIfBest();
        if (!searching()) {
            settled = assignment.homes();
        }
        boolean violated = false;
        boolean unsettled = false;
        for (int broker = 0; broker < roles.length; broker++) {
            if (roles[broker] == Role.SEARCHING) {
                judgeSearching(broker, verdict(broker) == Verdict.VIOLATES);
                unsettled |= roles[broker] == Role.SEARCHING || searches[broker].fits != assignment.publishers(broker);
            }
        }
        for (int broker = 0; broker < roles.length; broker++) {
            if (roles[broker] == Role.OPEN && tests[broker] != null) {
                boolean violates = verdict(broker) == Verdict.VIOLATES;
                violated |= violates;
                judgeOpen(broker, violates, unsettled);
            }
        }
        if (!policy.concentrates() && violated) {
            keepBest();
            return;
        }
        int[] homes = resize();
        boolean changed = !Arrays.equals(homes, assignment.homes());
        if (changed) {
            round++;
            become(homes, nowNs);
            if (outOfBrokers()) {
                keepBest();
            }
        } else if (assignment.unplaced() > 0) {
            keepBest();
        } else {
            state = State.FITTED;
            reasons.add(new Reason(round, Rule.ALL_FIT, Reason.NO_BROKER, assignment.brokersUsed(), round));
        }
    }

    private Verdict verdict(int broker) {
        SequentialTest test = tests[broker];
        Verdict verdict = test.verdictAtTheEnd();
        if (verdict == Verdict.OPEN) {
            double seconds = settings.mostNs() / 1e9;
            reasons.add(new Reason(round, Rule.NO_MEASUREMENT, broker, test.messages(), seconds));
            return Verdict.FITS;
        }
        Rule rule = verdict == Verdict.FITS ? Rule.FITS : Rule.VIOLATES;
        reasons.add(new Reason(round, rule, broker, test.part(), topic.slo().tolerated()));
        return verdict;
    }

    private void judgeSearching(int broker, boolean violates) {
        BrokerSearch search = searches[broker];
        if (violates) {
            double part = tests[broker].part();
            if (settings.early() && part > WORSE * search.part) {
                reasons.add(new Reason(round, Rule.SHEDDING_WORSENS, broker, part, search.part));
                search.violates = search.fits;
            } else {
                search.violates = assignment.publishers(broker);
                search.part = part;
            }
        } else {
            search.fits = assignment.publishers(broker);
        }
        if (search.over() || !violates && tests[broker].snug()) {
            fill(broker);
        }
    }

    /** While others search or shed, what an open broker has is not its last yet: it is judged when they are done. */
    private void judgeOpen(int broker, boolean violates, boolean unsettled) {
        int publishers = assignment.publishers(broker);
        if (!violates) {
            fitted[broker] = Math.max(fitted[broker], publishers);
        } else if (policy.concentrates() && !unsettled) {
            searches[broker] = new BrokerSearch(
                    Math.min(fitted[broker], publishers - 1),
                    publishers,
                    tests[broker].part(),
                    assignment.rate(broker),
                    promised(broker));
            roles[broker] = Role.SEARCHING;
            if (searches[broker].over()) {
                fill(broker);
            }
        }
    }

    private void fill(int broker) {
        BrokerSearch search = searches[broker];
        roles[broker] = Role.FULL;
        double held = search.beganRate * search.fits / search.began;
        reasons.add(new Reason(round, Rule.FULL, broker, search.fits, held));
        if (search.promised && held < CONTRADICTED * search.beganRate) {
            contradicted[broker] = true;
            reasons.add(new Reason(round, Rule.CAPACITY_CONTRADICTED, broker, held, search.beganRate));
        }
    }

    /**
     * Whether the load that the broker breaks under should have been easy: by the forecast, or because nothing bursts.
     */
    private boolean promised(int broker) {
        return forecast != null ? predict(assignment, broker).fits(topic.slo()) : assignment.burst(broker) <= 1;
    }

    /**
     * The homes for the next round: searching and full brokers have their numbers, and the excess goes to open ones.
     */
    private int[] resize() {
        int[] homes = assignment.homes().clone();
        takeBackWhatWasLent(homes);
        for (int broker = 0; broker < roles.length; broker++) {
            if (roles[broker] == Role.SEARCHING) {
                int next = next(broker);
                reasons.add(new Reason(round, Rule.TRIES_FEWER, broker, next, searches[broker].violates));
                resize(homes, broker, next);
            } else if (roles[broker] == Role.FULL) {
                resize(homes, broker, searches[broker].fits);
            }
        }
        return place(homes, round);
    }

    /** The excess is placed as a whole: what each round adds to it would otherwise go to yet another broker. */
    private void takeBackWhatWasLent(int[] homes) {
        boolean changes = false;
        for (int broker = 0; broker < roles.length; broker++) {
            changes |= roles[broker] == Role.SEARCHING
                    || roles[broker] == Role.FULL && searches[broker].fits != assignment.publishers(broker);
        }
        for (int m = 0; changes && m < homes.length; m++) {
            if (homes[m] != Assignment.UNPLACED && roles[homes[m]] == Role.OPEN && settled[m] != homes[m]) {
                homes[m] = Assignment.UNPLACED;
            }
        }
    }

    private int next(int broker) {
        BrokerSearch search = searches[broker];
        boolean slight = settings.early()
                && tests[broker].part() < SLIGHT * topic.slo().tolerated()
                && search.violates == assignment.publishers(broker);
        double step = slight ? SLIGHT_STEP : 0.5;
        int next = (int) (search.fits + step * (search.violates - search.fits));
        return Math.max(search.fits + 1, Math.min(search.violates - 1, next));
    }

    /** Sheds into the excess, or takes back from it. */
    private void resize(int[] homes, int broker, int size) {
        int[] own = with(homes, broker);
        if (own.length > size) {
            int[] kept = ProportionalDraw.divide(
                    members,
                    own,
                    new double[] {size / (double) own.length, 1 - size / (double) own.length},
                    policy.mindsGroups(),
                    random);
            for (int i = 0; i < own.length; i++) {
                homes[own[i]] = kept[i] == 0 ? broker : Assignment.UNPLACED;
            }
        } else if (own.length < size) {
            int[] others = with(homes, Assignment.UNPLACED);
            double part = Math.min(1, (size - own.length) / (double) Math.max(1, others.length));
            int[] taken = ProportionalDraw.divide(
                    members, others, new double[] {part, 1 - part}, policy.mindsGroups(), random);
            for (int i = 0; i < others.length; i++) {
                if (taken[i] == 0) {
                    homes[others[i]] = broker;
                }
            }
        }
    }

    private int[] with(int[] homes, int broker) {
        int[] own = new int[members.size()];
        int count = 0;
        for (int m = 0; m < homes.length; m++) {
            if (homes[m] == broker) {
                own[count++] = m;
            }
        }
        return Arrays.copyOf(own, count);
    }

    private static void release(int[] homes, int broker) {
        for (int m = 0; m < homes.length; m++) {
            if (homes[m] == broker) {
                homes[m] = Assignment.UNPLACED;
            }
        }
    }

    /**
     * Steps 1 and 2 for those without a home, on the open brokers: the fewest that are forecast to fit, if there is a
     * forecast.
     */
    private int[] place(int[] homes, int atRound) {
        Assignment before = new Assignment(members, homes, roles.length, 0);
        if (before.unplaced() == 0) {
            return homes;
        }
        double[] room = new double[roles.length];
        double[] load = new double[roles.length];
        int open = 0;
        for (int broker = 0; broker < roles.length; broker++) {
            load[broker] = brokers.allocated(broker) + before.rate(broker);
            if (roles[broker] == Role.OPEN) {
                room[broker] = Math.max(0, brokers.rcap(broker) - before.rate(broker));
                open += room[broker] > 0 ? 1 : 0;
            }
        }
        // While a broker searches, the excess changes every round: forecasting where it is lent to would be wasted.
        if (forecast == null || !policy.concentrates() || searching()) {
            int[] placed = homes.clone();
            planner.place(members, placed, room, load, 0, atRound, reasons);
            return placed;
        }
        int[] nearest = null;
        List<Reason> nearestWhy = List.of();
        double nearestWorst = Double.POSITIVE_INFINITY;
        int nearestK = 0;
        int byRate = 0;
        for (int k = 0; k <= open; k++) {
            int[] placed = homes.clone();
            List<Reason> why = new ArrayList<>();
            int used =
                    planner.place(members, placed, room, load, k, atRound, why).k();
            byRate = k == 0 ? used : byRate;
            double worst = worst(new Assignment(members, placed, roles.length, 0));
            if (worst < nearestWorst) {
                nearest = placed;
                nearestWhy = why;
                nearestWorst = worst;
                nearestK = used;
            }
            if (worst <= topic.slo().tolerated()) {
                break;
            }
            k = Math.max(k, used);
        }
        if (nearest == null) {
            return homes;
        }
        boolean fits = nearestWorst <= topic.slo().tolerated();
        reasons.add(new Reason(
                atRound,
                fits ? Rule.FORECAST_BROKERS : Rule.FORECAST_HOPELESS,
                Reason.NO_BROKER,
                nearestK,
                fits ? byRate : nearestWorst));
        reasons.addAll(nearestWhy);
        return nearest;
    }

    /** The forecast of the open broker that fares worst. */
    private double worst(Assignment candidate) {
        double worst = 0;
        for (int broker = 0; broker < roles.length; broker++) {
            if (roles[broker] == Role.OPEN && candidate.publishers(broker) > 0) {
                worst = Math.max(worst, predict(candidate, broker).tooSlow());
            }
        }
        return worst;
    }

    private Forecast.Prediction predict(Assignment candidate, int broker) {
        return forecast.predict(candidate, broker, brokers.allocated(broker));
    }

    private void become(int[] homes, long nowNs) {
        assignment = new Assignment(members, homes, roles.length, assignment.revision() + 1);
        roundBeganNs = nowNs;
        for (int broker = 0; broker < roles.length; broker++) {
            boolean measured = assignment.publishers(broker) > 0 && roles[broker] != Role.FULL;
            tests[broker] =
                    measured ? new SequentialTest(topic.slo(), settings.early(), assignment.burst(broker)) : null;
        }
    }

    private boolean outOfBrokers() {
        return assignment.unplaced() > tooLarge && !searching();
    }

    private boolean searching() {
        for (Role role : roles) {
            if (role == Role.SEARCHING) {
                return true;
            }
        }
        return false;
    }

    private void rememberIfBest() {
        if (assignment.unplaced() > 0) {
            return;
        }
        double worst = 0;
        for (SequentialTest test : tests) {
            worst = Math.max(worst, test == null ? 0 : test.part());
        }
        if (worst < bestWorst) {
            best = assignment;
            bestWorst = worst;
        }
    }

    /** The measured assignment of all publishers that was least bad; without one, whatever fits by rate. */
    private void keepBest() {
        state = State.KEPT_BEST;
        double missing = assignment.unplacedRate();
        reasons.add(new Reason(round, Rule.OUT_OF_BROKERS, Reason.NO_BROKER, missing, members.rate()));
        int[] homes;
        if (best != null) {
            homes = best.homes();
            reasons.add(new Reason(
                    round,
                    Rule.BEST_KEPT,
                    Reason.NO_BROKER,
                    bestWorst,
                    topic.slo().tolerated()));
        } else {
            homes = assignment.homes().clone();
            double[] room = new double[roles.length];
            double[] load = new double[roles.length];
            for (int broker = 0; broker < roles.length; broker++) {
                load[broker] = brokers.allocated(broker) + assignment.rate(broker);
                room[broker] =
                        roles[broker] == Role.GONE ? 0 : Math.max(0, brokers.rcap(broker) - assignment.rate(broker));
            }
            planner.place(members, homes, room, load, 0, round, reasons);
        }
        assignment = new Assignment(members, homes, roles.length, assignment.revision() + 1);
        if (assignment.unplaced() > 0) {
            reasons.add(new Reason(round, Rule.UNPLACED, Reason.NO_BROKER, assignment.unplaced(), members.size()));
        }
    }
}
