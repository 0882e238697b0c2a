package io.weir.supervisor.chart;

import static io.weir.supervisor.chart.Markup.escaped;
import static io.weir.supervisor.chart.Markup.px;

import java.util.Arrays;
import java.util.List;
import java.util.function.IntToDoubleFunction;

/**
 * A chart over time, divided into bins, for an HTML page whose style sheet has the colours ({@code style} names a class
 * of it). All charts of a page have the same time axis, so that one reads across them; {@code line.cross} is the
 * pointer's, moved by the page's script.
 */
public final class TimeChart {
    public static final int WIDTH = 1200;
    public static final int LEFT = 64;
    public static final int RIGHT = 12;
    private static final int TOP = 10;
    private static final int BOTTOM = 22;
    private static final int MOST_TIMES = 14;
    private static final int VALUES = 4;
    /** A line at the highest value, such as a limit, does not run along the chart's edge. */
    private static final double HEADROOM = 1.02;
    /** The mean width of a character in a bar's label; SVG alone cannot measure text. */
    private static final double CHARACTER = 6.1;

    /** The time that a chart covers: {@code count} bins of equal width. */
    public record Span(int count, double binSeconds) {
        public double seconds() {
            return count * binSeconds;
        }
    }

    private final Span span;
    private final int height;
    private final Scale timeAxis;
    private final Scale valueAxis;
    private final Markup body = new Markup();

    private TimeChart(Span span, int height, Scale valueAxis) {
        this.span = span;
        this.height = height;
        this.valueAxis = valueAxis;
        timeAxis = Scale.time(span.seconds(), MOST_TIMES);
    }

    /** From 0 to a round number above {@code most}. */
    public static TimeChart linear(Span span, int height, double most) {
        return new TimeChart(
                span, height, Scale.over(new double[] {0, HEADROOM * most}, false, Scale.Ends.ROUND, VALUES));
    }

    /** Round numbers around the values. */
    public static TimeChart logarithmic(Span span, int height, double least, double most) {
        return new TimeChart(span, height, Scale.over(new double[] {least, most}, true, Scale.Ends.ROUND, VALUES));
    }

    /** Time alone, for what has rows instead of values. */
    public static TimeChart rows(Span span, int height) {
        return new TimeChart(span, height + TOP + BOTTOM, Scale.blank());
    }

    /** A time as the axis has it: 7.5 s, 2:30, 1:02:30. */
    public static String time(double seconds) {
        return Scale.clock(seconds);
    }

    private double x(double seconds) {
        return LEFT + within(timeAxis.at(seconds)) * (WIDTH - LEFT - RIGHT);
    }

    private double y(double value) {
        return height - BOTTOM - within(valueAxis.at(value)) * (height - TOP - BOTTOM);
    }

    /** What is outside of an axis is drawn at its end. */
    private static double within(double part) {
        return Math.max(0, Math.min(1, part));
    }

    /** A span of time over the whole height. */
    public TimeChart band(double from, double to, String style) {
        double x = x(from);
        body.line(
                "<rect class='%s' x='%.1f' y='%d' width='%.1f' height='%d'/>",
                style, x, TOP, Math.max(1, x(to) - x), height - TOP - BOTTOM);
        return this;
    }

    /** A moment over the whole height, with a word at its top, {@code line} lines down where others have words too. */
    public TimeChart moment(double at, String style, String label, int line) {
        body.line("<line class='%s' x1='%.1f' x2='%.1f' y1='%d' y2='%d'/>", style, x(at), x(at), TOP, height - BOTTOM);
        if (!label.isEmpty()) {
            body.line(
                    "<text class='%s' x='%.1f' y='%d'>%s</text>",
                    style, x(at) + 3, TOP + 9 + 12 * line, escaped(label));
        }
        return this;
    }

    /**
     * A bar in a row, with its words in it where they fit, else beside it; its title is shown while the pointer is on
     * it.
     */
    public TimeChart bar(double from, double to, int y, int thickness, String style, String label, String title) {
        double begin = x(from);
        double end = Math.max(x(to), begin + 3);
        body.line("<g class='bar'><title>%s</title>", escaped(title));
        body.line(
                "<rect class='%s' x='%.1f' y='%d' width='%.1f' height='%d' rx='2'/>",
                style, begin, TOP + y, end - begin, thickness);
        double letters = CHARACTER * label.length() + 8;
        boolean inside = letters <= end - begin;
        boolean right = end + letters < WIDTH - RIGHT;
        body.line(
                "<text class='%s' x='%.1f' y='%d' text-anchor='%s'>%s</text></g>",
                inside ? "inbar" : "byside",
                inside ? begin + 4 : right ? end + 4 : begin - 4,
                TOP + y + thickness - 4,
                inside || right ? "start" : "end",
                escaped(label));
        return this;
    }

    /** The room from the left edge to where {@link #bar} would end, words included, in seconds. */
    public double reach(double to, String label) {
        return (x(to) + CHARACTER * label.length() + 12 - LEFT) / (WIDTH - LEFT - RIGHT) * span.seconds();
    }

    public TimeChart rowName(int y, int thickness, String name) {
        body.line(
                "<text class='axis' x='%d' y='%d' text-anchor='end'>%s</text>",
                LEFT - 6, TOP + y + thickness - 4, escaped(name));
        return this;
    }

    /** Areas on top of each other; {@code styles} has one for each. */
    public TimeChart stacked(List<double[]> series, List<String> styles) {
        double[] below = new double[span.count()];
        for (int i = 0; i < series.size(); i++) {
            double[] values = series.get(i);
            double[] above = new double[span.count()];
            Arrays.setAll(above, bin -> below[bin] + values[bin]);
            if (Arrays.stream(values).anyMatch(value -> value > 0)) {
                StringBuilder path = new StringBuilder("M");
                edge(path, bin -> above[bin], false);
                path.append("L");
                edge(path, bin -> below[bin], true);
                body.line("<path class='%s' d='%sZ'/>", styles.get(i), path);
            }
            System.arraycopy(above, 0, below, 0, below.length);
        }
        return this;
    }

    /** Steps, a bin each; corners where nothing changes are left out. */
    private void edge(StringBuilder path, IntToDoubleFunction value, boolean backwards) {
        double last = Double.NaN;
        for (int i = 0; i < span.count(); i++) {
            int bin = backwards ? span.count() - 1 - i : i;
            double y = y(value.applyAsDouble(bin));
            boolean end = i == span.count() - 1;
            if (y != last || end) {
                double from = x((bin + (backwards ? 1 : 0)) * span.binSeconds());
                point(path, from, y);
            }
            if (end || y(value.applyAsDouble(backwards ? bin - 1 : bin + 1)) != y) {
                point(path, x((bin + (backwards ? 0 : 1)) * span.binSeconds()), y);
            }
            last = y;
        }
    }

    private static void point(StringBuilder path, double x, double y) {
        path.append(' ').append(px(x)).append(' ').append(px(y));
    }

    /** Through the middle of each bin, or as steps; NaN leaves a gap. */
    public TimeChart line(double[] values, String style, boolean steps) {
        StringBuilder path = new StringBuilder();
        boolean down = false;
        for (int bin = 0; bin < values.length; bin++) {
            if (Double.isNaN(values[bin])) {
                down = false;
                continue;
            }
            path.append(down ? " L" : " M");
            if (steps) {
                point(path, x(bin * span.binSeconds()), y(values[bin]));
                path.append(" L");
                point(path, x((bin + 1) * span.binSeconds()), y(values[bin]));
            } else {
                point(path, x((bin + 0.5) * span.binSeconds()), y(values[bin]));
                if (!down && (bin + 1 == values.length || Double.isNaN(values[bin + 1]))) {
                    // Alone, it would not be seen.
                    path.append(" h1");
                }
            }
            down = true;
        }
        if (path.length() > 0) {
            body.line("<path class='%s' d='%s'/>", style, path.toString().trim());
        }
        return this;
    }

    /** The picture, axes included. */
    public String svg(String name) {
        Markup svg = new Markup();
        svg.line("<svg class='chart' viewBox='0 0 %d %d' role='img' aria-label='%s'>", WIDTH, height, escaped(name));
        for (Scale.Tick tick : timeAxis.ticks()) {
            String x = px(x(tick.value()));
            svg.line("<line class='grid' x1='%s' x2='%s' y1='%d' y2='%d'/>", x, x, TOP, height - BOTTOM);
            svg.line("<text class='axis' x='%s' y='%d' text-anchor='middle'>%s</text>", x, height - 7, tick.label());
        }
        for (Scale.Tick tick : valueAxis.ticks()) {
            if (tick.major()) {
                double y = y(tick.value());
                svg.line("<line class='grid' x1='%d' x2='%d' y1='%s' y2='%s'/>", LEFT, WIDTH - RIGHT, px(y), px(y));
                svg.line(
                        "<text class='axis' x='%d' y='%s' text-anchor='end'>%s</text>",
                        LEFT - 6, px(y + 4), tick.label());
            }
        }
        svg.raw(body.toString());
        svg.line("<line class='cross' x1='-9' x2='-9' y1='%d' y2='%d'/>", TOP, height - BOTTOM);
        svg.line("</svg>");
        return svg.toString();
    }
}
