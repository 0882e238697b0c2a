package io.weir.cluster.chaos.report;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.IntToDoubleFunction;

/** An SVG over the time of a report; every chart of a page has the same time axis, so that one reads across them. */
final class Chart {
    static final int WIDTH = 1200;
    static final int LEFT = 64;
    static final int RIGHT = 12;
    private static final int TOP = 10;
    private static final int BOTTOM = 22;
    private static final double[] STEPS = {
        0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400
    };
    private static final int MOST_TICKS = 14;

    private final TimeBins bins;
    private final int height;
    private final double top;
    private final boolean logarithmic;
    private final double bottom;
    private final StringBuilder body = new StringBuilder();

    private Chart(TimeBins bins, int height, double bottom, double top, boolean logarithmic) {
        this.bins = bins;
        this.height = height;
        this.bottom = bottom;
        this.top = top;
        this.logarithmic = logarithmic;
    }

    /** From 0 to a round number that {@code most} is below. */
    static Chart linear(TimeBins bins, int height, double most) {
        double step = roundStep(Math.max(most, 1e-9) / 4);
        return new Chart(bins, height, 0, Math.max(step, Math.ceil(most * 1.02 / step) * step), false);
    }

    /** Whole powers of ten around the values. */
    static Chart logarithmic(TimeBins bins, int height, double least, double most) {
        double bottom = Math.pow(10, Math.floor(Math.log10(least)));
        double top = Math.pow(10, Math.ceil(Math.log10(most * 1.01)));
        return new Chart(bins, height, bottom, Math.max(top, bottom * 10), true);
    }

    /** Time alone, for what has rows instead of values. */
    static Chart rows(TimeBins bins, int height) {
        return new Chart(bins, height + TOP + BOTTOM, 0, 1, false);
    }

    private static double roundStep(double least) {
        double power = Math.pow(10, Math.floor(Math.log10(least)));
        for (double factor : new double[] {1, 2, 2.5, 5}) {
            if (factor * power >= least) {
                return factor * power;
            }
        }
        return 10 * power;
    }

    private double x(double seconds) {
        double part = Math.max(0, Math.min(1, seconds / bins.spanSeconds()));
        return LEFT + part * (WIDTH - LEFT - RIGHT);
    }

    private double y(double value) {
        double part = logarithmic
                ? (Math.log10(Math.max(value, bottom)) - Math.log10(bottom)) / (Math.log10(top) - Math.log10(bottom))
                : value / top;
        return height - BOTTOM - Math.max(0, Math.min(1, part)) * (height - TOP - BOTTOM);
    }

    private void add(String format, Object... values) {
        body.append(String.format(Locale.ROOT, format, values)).append('\n');
    }

    /** A span of time over the whole height. */
    Chart band(double from, double to, String style) {
        double x = x(from);
        add(
                "<rect class='%s' x='%.1f' y='%d' width='%.1f' height='%d'/>",
                style, x, TOP, Math.max(1, x(to) - x), height - TOP - BOTTOM);
        return this;
    }

    /** A moment over the whole height, with a word at its top, {@code line} lines down where others have words too. */
    Chart moment(double at, String style, String label, int line) {
        add("<line class='%s' x1='%.1f' x2='%.1f' y1='%d' y2='%d'/>", style, x(at), x(at), TOP, height - BOTTOM);
        if (!label.isEmpty()) {
            add(
                    "<text class='%s' x='%.1f' y='%d'>%s</text>",
                    style, x(at) + 3, TOP + 9 + 12 * line, ReportPage.escaped(label));
        }
        return this;
    }

    /** A bar in a row, with its words in it where they fit, else beside it; hovering tells all of it. */
    Chart bar(double from, double to, int y, int thickness, String style, String label, String title) {
        double begin = x(from);
        double end = Math.max(x(to), begin + 3);
        add("<g class='bar'><title>%s</title>", ReportPage.escaped(title));
        add(
                "<rect class='%s' x='%.1f' y='%d' width='%.1f' height='%d' rx='2'/>",
                style, begin, TOP + y, end - begin, thickness);
        double letters = 6.1 * label.length() + 8;
        boolean inside = letters <= end - begin;
        boolean right = end + letters < WIDTH - RIGHT;
        add(
                "<text class='%s' x='%.1f' y='%d' text-anchor='%s'>%s</text></g>",
                inside ? "inbar" : "byside",
                inside ? begin + 4 : right ? end + 4 : begin - 4,
                TOP + y + thickness - 4,
                inside || right ? "start" : "end",
                ReportPage.escaped(label));
        return this;
    }

    /** The room from the left edge to where {@link #bar} would end, words included, in seconds. */
    double reach(double to, String label) {
        return (x(to) + 6.1 * label.length() + 12 - LEFT) / (WIDTH - LEFT - RIGHT) * bins.spanSeconds();
    }

    Chart rowName(int y, int thickness, String name) {
        add(
                "<text class='axis' x='%d' y='%d' text-anchor='end'>%s</text>",
                LEFT - 6, TOP + y + thickness - 4, ReportPage.escaped(name));
        return this;
    }

    /** Areas on top of each other; {@code styles} has one for each. */
    Chart stacked(List<double[]> series, List<String> styles) {
        double[] below = new double[bins.count()];
        for (int i = 0; i < series.size(); i++) {
            double[] values = series.get(i);
            double[] above = new double[bins.count()];
            Arrays.setAll(above, bin -> below[bin] + values[bin]);
            if (Arrays.stream(values).anyMatch(value -> value > 0)) {
                StringBuilder path = new StringBuilder("M");
                edge(path, bin -> above[bin], false);
                path.append("L");
                edge(path, bin -> below[bin], true);
                add("<path class='%s' d='%sZ'/>", styles.get(i), path);
            }
            System.arraycopy(above, 0, below, 0, below.length);
        }
        return this;
    }

    /** Steps, a bin each; corners where nothing changes are left out. */
    private void edge(StringBuilder path, IntToDoubleFunction value, boolean backwards) {
        double last = Double.NaN;
        for (int i = 0; i < bins.count(); i++) {
            int bin = backwards ? bins.count() - 1 - i : i;
            double y = y(value.applyAsDouble(bin));
            boolean end = i == bins.count() - 1;
            if (y != last || end) {
                double from = x((bin + (backwards ? 1 : 0)) * bins.widthSeconds());
                point(path, from, y);
            }
            if (end || y(value.applyAsDouble(backwards ? bin - 1 : bin + 1)) != y) {
                point(path, x((bin + (backwards ? 0 : 1)) * bins.widthSeconds()), y);
            }
            last = y;
        }
    }

    private static void point(StringBuilder path, double x, double y) {
        path.append(String.format(Locale.ROOT, " %.1f %.1f", x, y));
    }

    /** Through the middle of each bin, or as steps; NaN leaves a gap. */
    Chart line(double[] values, String style, boolean steps) {
        StringBuilder path = new StringBuilder();
        boolean down = false;
        for (int bin = 0; bin < values.length; bin++) {
            if (Double.isNaN(values[bin])) {
                down = false;
                continue;
            }
            path.append(down ? " L" : " M");
            if (steps) {
                point(path, x(bin * bins.widthSeconds()), y(values[bin]));
                path.append(" L");
                point(path, x((bin + 1) * bins.widthSeconds()), y(values[bin]));
            } else {
                point(path, x((bin + 0.5) * bins.widthSeconds()), y(values[bin]));
                if (!down && (bin + 1 == values.length || Double.isNaN(values[bin + 1]))) {
                    // Alone, it would not be seen.
                    path.append(" h1");
                }
            }
            down = true;
        }
        if (path.length() > 0) {
            add("<path class='%s' d='%s'/>", style, path.toString().trim());
        }
        return this;
    }

    /** The picture, axes included. */
    String svg(String name) {
        StringBuilder svg = new StringBuilder(String.format(
                Locale.ROOT,
                "<svg class='chart' viewBox='0 0 %d %d' role='img' aria-label='%s'>%n",
                WIDTH,
                height,
                ReportPage.escaped(name)));
        timeAxis(svg);
        if (top != 1 || bottom != 0) {
            valueAxis(svg);
        }
        return svg.append(body)
                .append("<line class='cross' x1='-9' x2='-9' y1='" + TOP + "' y2='" + (height - BOTTOM)
                        + "'/>\n</svg>\n")
                .toString();
    }

    private void timeAxis(StringBuilder svg) {
        double step = Arrays.stream(STEPS)
                .filter(each -> bins.spanSeconds() / each <= MOST_TICKS)
                .findFirst()
                .orElse(bins.spanSeconds() / 10);
        for (int i = 0; i * step <= bins.spanSeconds(); i++) {
            double at = i * step;
            svg.append(String.format(
                    Locale.ROOT,
                    "<line class='grid' x1='%.1f' x2='%.1f' y1='%d' y2='%d'/>"
                            + "<text class='axis' x='%.1f' y='%d' text-anchor='middle'>%s</text>%n",
                    x(at),
                    x(at),
                    TOP,
                    height - BOTTOM,
                    x(at),
                    height - 7,
                    time(at)));
        }
    }

    /** 7.5 s, 2:30, 1:02:30. */
    static String time(double seconds) {
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

    private void valueAxis(StringBuilder svg) {
        if (logarithmic) {
            for (double value = bottom; value <= top * 1.001; value *= 10) {
                valueTick(svg, value);
            }
        } else {
            double step = roundStep(top / 4);
            for (int i = 0; i * step <= top * 1.001; i++) {
                valueTick(svg, i * step);
            }
        }
    }

    private void valueTick(StringBuilder svg, double value) {
        svg.append(String.format(
                Locale.ROOT,
                "<line class='grid' x1='%d' x2='%d' y1='%.1f' y2='%.1f'/>"
                        + "<text class='axis' x='%d' y='%.1f' text-anchor='end'>%s</text>%n",
                LEFT,
                WIDTH - RIGHT,
                y(value),
                y(value),
                LEFT - 6,
                y(value) + 4,
                number(value)));
    }

    static String number(double value) {
        if (value != 0 && Math.abs(value) < 10 && value != Math.rint(value)) {
            return Double.toString(Math.rint(value * 1_000) / 1_000);
        }
        return String.format(Locale.ROOT, "%,d", Math.round(value));
    }
}
