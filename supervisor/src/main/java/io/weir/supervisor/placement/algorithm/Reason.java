package io.weir.supervisor.placement.algorithm;

import java.util.Locale;
import java.util.function.IntFunction;

/**
 * Why something was decided, as data: the rule, the broker it is about, and the two numbers that were compared.
 *
 * @param round the measurement round after which it was decided; 0 before any
 * @param broker the broker's index, or {@link #NO_BROKER}
 * @param found what was found: a rate in messages a second, a number of publishers or of brokers, or a part of the
 *     messages
 * @param bound what it was held against
 */
public record Reason(int round, Rule rule, int broker, double found, double bound) {
    public static final int NO_BROKER = -1;

    /** The step of SRTM 4.2 that a rule belongs to. */
    public enum Step {
        CONCENTRATION,
        MAX_MIN,
        CORRELATION,
        FITTING,
        OUTCOME
    }

    /** Every rule that decides something; the text's {0} is the broker, {1} what was found, {2} the bound. */
    public enum Rule {
        NO_PUBLISHERS(Step.OUTCOME, "the topic has no publishers: there is nothing to place"),
        FEWEST_BROKERS(Step.CONCENTRATION, "{1} brokers are the fewest whose room holds the topic's {2} msg/s"),
        ALL_BROKERS(Step.CONCENTRATION, "the policy spreads the topic over all {1} brokers"),
        NO_ROOM(Step.CONCENTRATION, "all brokers together have room for {1} of {2} msg/s"),
        LARGER_THAN_ANY(
                Step.CONCENTRATION, "a publisher of {1} msg/s is larger than the room of any broker ({2} msg/s)"),
        FORECAST_BROKERS(
                Step.CONCENTRATION,
                "{1} brokers are the fewest that the forecast lets hold the topic; by rate alone it were {2}"),
        FORECAST_HOPELESS(
                Step.CONCENTRATION,
                "no number of brokers is forecast to hold the objective; {1} come nearest, with {2} of the messages too slow"),
        FAIR_SHARE(Step.MAX_MIN, "{0} gets its fair share of {1} msg/s (room: {2})"),
        LIMITED_BY_ROOM(Step.MAX_MIN, "{0} gets all of its room, {1} msg/s, which is below the fair share of {2}"),
        EQUAL_TOTAL(Step.MAX_MIN, "{0} gets {1} msg/s, so that its total is {2} as on the others"),
        GROUPS_IN_PROPORTION(
                Step.CORRELATION, "{1} publishers drawn from each of {2} groups in proportion to the group"),
        GROUPS_IGNORED(Step.CORRELATION, "{1} publishers drawn at random: the policy does not look at the {2} groups"),
        REPAIRED(
                Step.CORRELATION, "{1} publishers moved from {0}: their whole rates did not fit its room of {2} msg/s"),
        FITS(Step.FITTING, "{0} fits: {1} of its messages are too slow, {2} are allowed"),
        VIOLATES(Step.FITTING, "{0} breaks the objective: {1} of its messages are too slow, {2} are allowed"),
        TRIES_FEWER(Step.FITTING, "{0} tries {1} publishers of at most {2}"),
        SHEDDING_WORSENS(
                Step.FITTING,
                "{0} is slower with fewer publishers, {1} too slow instead of {2}: its share of the limit has become too small"),
        FULL(Step.FITTING, "{0} is full with {1} publishers, {2} msg/s"),
        CAPACITY_CONTRADICTED(
                Step.FITTING,
                "{0} holds {1} msg/s, but claimed or was forecast {2}: its capacity is wrong; calibrate it again"),
        NO_MEASUREMENT(Step.FITTING, "{0} saw only {1} messages in {2} s: its forecast stands"),
        ALL_FIT(
                Step.OUTCOME,
                "every publisher is placed and every broker meets the objective, on {1} brokers after {2} rounds"),
        OUT_OF_BROKERS(
                Step.OUTCOME, "no broker is left for {1} of {2} msg/s: the best assignment is kept; add brokers"),
        BEST_KEPT(
                Step.OUTCOME,
                "the best assignment has {1} of the messages too slow where it is worst; {2} are allowed"),
        UNPLACED(Step.OUTCOME, "{1} of {2} publishers are not placed");

        private final Step step;
        private final String text;

        Rule(Step step, String text) {
            this.step = step;
            this.text = text;
        }

        public Step step() {
            return step;
        }
    }

    /** A sentence, with the broker's name as {@code brokerName} has it. */
    public String sentence(IntFunction<String> brokerName) {
        return rule.text
                .replace("{0}", broker == NO_BROKER ? "no broker" : brokerName.apply(broker))
                .replace("{1}", number(found))
                .replace("{2}", number(bound));
    }

    private static String number(double value) {
        if (value == Math.rint(value) && Math.abs(value) < 1e15) {
            return String.format(Locale.ROOT, "%,d", (long) value);
        }
        return String.format(Locale.ROOT, Math.abs(value) >= 100 ? "%,.0f" : "%.3g", value);
    }
}
