package io.weir.supervisor.chart;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * One axis of a chart: which values it covers, where on it a value stands (0 at its start, 1 at its end), and where its
 * ticks are. Linear ticks are 1, 2 or 5 times a power of ten; logarithmic ones are the decades, with 2 and 5 between
 * them where there is room; those of time are round to somebody who reads a clock.
 */
final class Scale {
    /** A tick; without a label it is a minor one. */
    record Tick(double value, String label) {
        boolean major() {
            return !label.isEmpty();
        }
    }

    /** How the ends are chosen: exactly at the outermost values, or at the round values around them. */
    enum Ends {
        TIGHT,
        ROUND
    }

    private static final double[] CLOCK_STEPS = {
        0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400
    };
    /** Beyond this a span would overflow a double; no measurement comes near it. */
    private static final double LARGEST = 1e300;

    private final boolean logarithmic;
    private final double low;
    private final double high;
    private final List<Tick> ticks;

    private Scale(boolean logarithmic, double low, double high, List<Tick> ticks) {
        this.logarithmic = logarithmic;
        this.low = low;
        this.high = high;
        this.ticks = ticks.stream()
                .filter(tick -> tick.value() >= low && tick.value() <= high)
                .toList();
    }

    /** A scale over those of {@code values} that can be drawn, with about {@code target} labelled ticks. */
    static Scale over(double[] values, boolean logarithmic, Ends ends, int target) {
        double[] drawn = Arrays.stream(values)
                .filter(value -> drawable(value, logarithmic))
                .toArray();
        if (drawn.length == 0) {
            drawn = logarithmic ? new double[] {1, 10} : new double[] {0, 1};
        }
        double min = Arrays.stream(drawn).min().getAsDouble();
        double max = Arrays.stream(drawn).max().getAsDouble();
        if (logarithmic) {
            return logarithmic(min, max, ends, target);
        }
        boolean whole = Arrays.stream(drawn).allMatch(value -> value == Math.rint(value));
        return linear(min, max, whole, ends, target);
    }

    /** From 0 to {@code seconds}, with at most {@code most} ticks after the first. */
    static Scale time(double seconds, int most) {
        double step = Arrays.stream(CLOCK_STEPS)
                .filter(each -> seconds / each <= most)
                .findFirst()
                .orElse(seconds / most);
        List<Tick> ticks = new ArrayList<>();
        for (int i = 0; i * step <= seconds; i++) {
            ticks.add(new Tick(i * step, clock(i * step)));
        }
        return new Scale(false, 0, seconds, ticks);
    }

    /** 7.5 s, 2:30, 1:02:30. */
    static String clock(double seconds) {
        if (seconds < 60) {
            return seconds == Math.rint(seconds)
                    ? (long) seconds + " s"
                    : String.format(Locale.ROOT, "%.1f s", seconds);
        }
        long whole = Math.round(seconds);
        return whole < 3_600
                ? String.format(Locale.ROOT, "%d:%02d", whole / 60, whole % 60)
                : String.format(Locale.ROOT, "%d:%02d:%02d", whole / 3_600, whole / 60 % 60, whole % 60);
    }

    /** An axis without values. */
    static Scale blank() {
        return new Scale(false, 0, 1, List.of());
    }

    static boolean drawable(double value, boolean logarithmic) {
        return logarithmic ? value >= 1 / LARGEST && value <= LARGEST : Math.abs(value) <= LARGEST;
    }

    /** Where {@code value} stands: 0 at the start of the axis, 1 at its end. */
    double at(double value) {
        return logarithmic
                ? (Math.log10(value) - Math.log10(low)) / (Math.log10(high) - Math.log10(low))
                : (value - low) / (high - low);
    }

    List<Tick> ticks() {
        return ticks;
    }

    private static Scale linear(double min, double max, boolean whole, Ends ends, int target) {
        double low = min;
        double high = max;
        if (max - min <= Math.max(1 / LARGEST, 1e-12 * Math.max(Math.abs(min), Math.abs(max)))) {
            // One value only: it stands in the middle of an axis that begins at zero.
            low = Math.min(0, 2 * max);
            high = Math.abs(max) <= 1 / LARGEST ? 1 : Math.max(0, 2 * max);
        } else if (min > 0 && min <= (ends == Ends.ROUND ? 0.5 : 0.15) * max) {
            low = 0;
        }
        BigDecimal step = roundStep((high - low) / target);
        if (whole && step.compareTo(BigDecimal.ONE) < 0) {
            step = BigDecimal.ONE;
        }
        if (ends == Ends.ROUND) {
            low = step.doubleValue() * Math.floor(low / step.doubleValue() + 1e-9);
            high = step.doubleValue() * Math.ceil(high / step.doubleValue() - 1e-9);
        }
        // A tick just outside is worth the little room it takes: data to 299.9 s belong on an axis to 300 s.
        double slack = 0.03 * (high - low);
        double below = step.doubleValue() * Math.floor(low / step.doubleValue());
        double above = step.doubleValue() * Math.ceil(high / step.doubleValue());
        low = low - below <= slack ? below : low;
        high = above - high <= slack ? above : high;
        return new Scale(false, low, high, linearTicks(low, high, step));
    }

    /** The smallest of 1, 2 and 5 times a power of ten that is not below {@code rough}. */
    private static BigDecimal roundStep(double rough) {
        int exponent = (int) Math.floor(Math.log10(rough));
        for (int mantissa : new int[] {1, 2, 5}) {
            BigDecimal step = BigDecimal.valueOf(mantissa).scaleByPowerOfTen(exponent);
            if (step.doubleValue() >= rough * (1 - 1e-9)) {
                return step;
            }
        }
        return BigDecimal.ONE.scaleByPowerOfTen(exponent + 1);
    }

    private static List<Tick> linearTicks(double low, double high, BigDecimal step) {
        double largest = Math.max(Math.abs(low), Math.abs(high));
        // Just below the largest: an axis to 10⁻⁵ in steps of 2×10⁻⁶ counts in 10⁻⁶.
        int exponent = (int) Math.floor(Math.log10(largest - step.doubleValue() / 2));
        // One power of ten for all labels of an axis, unless that would only move the long tail of digits.
        boolean powers = (exponent >= 6 || exponent < -3) && largest / step.doubleValue() < 1e4;
        int shift = powers ? exponent : 0;
        int decimals = Math.max(0, step.stripTrailingZeros().scale() + shift);
        long first = (long) Math.ceil(low / step.doubleValue() - 1e-9);
        long last = (long) Math.floor(high / step.doubleValue() + 1e-9);
        List<Tick> ticks = new ArrayList<>();
        for (long i = first; i <= last; i++) {
            BigDecimal exact = step.multiply(BigDecimal.valueOf(i));
            String digits = i == 0 ? "0" : plain(exact.scaleByPowerOfTen(-shift), decimals);
            // The ends were computed in doubles: a tick within rounding of an end stands on it.
            double value = Math.min(high, Math.max(low, exact.doubleValue()));
            ticks.add(new Tick(value, powers && i != 0 ? digits + "×10" + superscript(shift) : digits));
        }
        return ticks;
    }

    private static Scale logarithmic(double min, double max, Ends ends, int target) {
        double low = min;
        double high = max;
        if (max / min <= 1 + 1e-6) {
            low = min / 4;
            high = max * 4;
        }
        if (ends == Ends.ROUND) {
            low = roundOut(low, false);
            high = roundOut(high, true);
        }
        double decades = Math.log10(high) - Math.log10(low);
        if (decades < 0.7) {
            return new Scale(true, low, high, linearTicks(low, high, roundStep((high - low) / target)));
        }
        return new Scale(true, low, high, logarithmicTicks(low, high, decades, target));
    }

    /** The nearest 1, 2 or 5 times a power of ten at or above {@code value}, or at or below it. */
    private static double roundOut(double value, boolean up) {
        int exponent = (int) Math.floor(Math.log10(value));
        double below = power(1, exponent - 1);
        for (int e = exponent - 1; e <= exponent + 1; e++) {
            for (int mantissa : new int[] {1, 2, 5}) {
                double candidate = power(mantissa, e);
                if (up && candidate >= value * (1 - 1e-9)) {
                    return candidate;
                }
                below = candidate <= value * (1 + 1e-9) ? candidate : below;
            }
        }
        return below;
    }

    private static List<Tick> logarithmicTicks(double low, double high, double decades, int target) {
        int first = (int) Math.floor(Math.log10(low));
        int last = (int) Math.ceil(Math.log10(high));
        int stride = Math.max(1, roundStep(decades / target).intValue());
        boolean between = decades < 2.2;
        boolean powers = first < -4 || last > 6;
        List<Tick> ticks = new ArrayList<>();
        for (int exponent = first; exponent <= last; exponent++) {
            if (Math.floorMod(exponent, stride) != 0) {
                continue;
            }
            for (int mantissa = 1; mantissa <= (stride == 1 ? 9 : 1); mantissa++) {
                boolean labelled = mantissa == 1 || between && (mantissa == 2 || mantissa == 5);
                String label = powers
                        ? (mantissa == 1 ? "" : mantissa + "×") + "10" + superscript(exponent)
                        : plain(BigDecimal.valueOf(mantissa).scaleByPowerOfTen(exponent), Math.max(0, -exponent));
                ticks.add(new Tick(power(mantissa, exponent), labelled ? label : ""));
            }
        }
        return ticks;
    }

    /** {@code mantissa}·10^{@code exponent}, the double nearest to it. */
    private static double power(int mantissa, int exponent) {
        return BigDecimal.valueOf(mantissa).scaleByPowerOfTen(exponent).doubleValue();
    }

    private static String plain(BigDecimal value, int decimals) {
        return String.format(Locale.ROOT, "%,." + decimals + "f", value).replace('-', '−');
    }

    private static String superscript(int exponent) {
        StringBuilder raised = new StringBuilder();
        for (char c : Integer.toString(exponent).toCharArray()) {
            raised.append(c == '-' ? '⁻' : "⁰¹²³⁴⁵⁶⁷⁸⁹".charAt(c - '0'));
        }
        return raised.toString();
    }
}
