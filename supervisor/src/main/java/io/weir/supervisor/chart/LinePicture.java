package io.weir.supervisor.chart;

import static io.weir.supervisor.chart.Markup.escaped;
import static io.weir.supervisor.chart.Markup.px;

import io.weir.supervisor.chart.LineChart.Series;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleBinaryOperator;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/**
 * Draws a {@link LineChart} as an SVG picture of 900 × 560. What is ours is a solid line with filled markers; what is
 * the paper's is dashed with hollow markers, in the colour of our series whose label its own label contains; what was
 * measured looks like the paper's without the line. A value that cannot be drawn (NaN, infinite, or not positive on a
 * logarithmic axis) leaves a gap in its line.
 */
final class LinePicture {
    static final int WIDTH = 900;
    static final int HEIGHT = 560;

    /** Okabe and Ito's palette, told apart by colour-blind readers too; without its yellow, too faint on white. */
    private static final List<String> COLOURS =
            List.of("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000");
    /** Polygons around (0, 0) of about the same area as the circle, which is the first shape and the empty one. */
    private static final double[][] SHAPES = {
        {},
        {-0.89, -0.89, 0.89, -0.89, 0.89, 0.89, -0.89, 0.89},
        {0, -1.3, 1.2, 0.85, -1.2, 0.85},
        {0, -1.3, 1.3, 0, 0, 1.3, -1.3, 0},
        {0, 1.3, 1.2, -0.85, -1.2, -0.85},
        {0, -1.2, 1.14, -0.37, 0.7, 0.97, -0.7, 0.97, -1.14, -0.37}
    };

    private static final String INK = "#222222";
    private static final String GRID = "#E4E4E4";
    /** The mean width of a character in parts of the font size; SVG alone cannot measure text. */
    private static final double CHARACTER = 0.6;
    /** Room between the frame and the outermost points, so that no marker is cut. */
    private static final double INSET = 14;
    /** A line with more points than this carries only some markers. */
    private static final int MARK_ALL = 40;

    /** How a series looks: which colour and marker, and whether it is a repetition of both that needs another dash. */
    private record Look(String colour, double[] shape, String dash) {}

    /** A point in pixels. */
    private record Pixel(double x, double y) {}

    private final LineChart chart;
    private final Markup svg = new Markup();
    private final Scale xScale;
    private final Scale yScale;
    private final List<Look> looks;
    private final List<List<String>> legend;
    private final List<String> titleLines;
    private final double left;
    private final double right;
    private final double top;
    private final double bottom = HEIGHT - 62;

    LinePicture(LineChart chart) {
        this.chart = chart;
        xScale = Scale.over(drawn((x, y) -> x), chart.x().logarithmic(), Scale.Ends.TIGHT, 8);
        yScale = Scale.over(drawn((x, y) -> y), chart.y().logarithmic(), Scale.Ends.ROUND, 8);
        looks = looks(chart.series());
        legend = chart.series().stream()
                .map(series -> wrap(legendLabel(series), 24))
                .toList();
        titleLines = wrap(chart.title(), 72);
        double widestTick = yScale.ticks().stream()
                .mapToDouble(tick -> textWidth(tick.label(), 12))
                .max()
                .orElse(0);
        double widestEntry = legend.stream()
                .flatMap(List::stream)
                .mapToDouble(line -> textWidth(line, 12))
                .max()
                .orElse(0);
        left = 44 + widestTick;
        right = WIDTH - 24 - (legend.isEmpty() ? 0 : 54 + widestEntry);
        top = 38 + 20 * titleLines.size();
    }

    String draw() {
        svg.line(
                "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d' role='img'"
                        + " font-family='Helvetica, Arial, DejaVu Sans, sans-serif' font-size='12' fill='%s'>",
                WIDTH, HEIGHT, WIDTH, HEIGHT, INK);
        svg.line("<title>%s</title>", escaped(chart.title()));
        svg.line("<rect width='%d' height='%d' fill='#FFFFFF'/>", WIDTH, HEIGHT);
        for (int i = 0; i < titleLines.size(); i++) {
            text(WIDTH / 2.0, 30 + 20 * i, 16, "middle", "font-weight='bold'", titleLines.get(i));
        }
        drawAxes();
        boolean any = false;
        // Lines that are not ours come last, on top of ours: they are dashed and hollow, so both stay visible.
        for (boolean ours : new boolean[] {true, false}) {
            for (int i = 0; i < chart.series().size(); i++) {
                if (chart.series().get(i).ours() == ours) {
                    any |= drawSeries(i);
                }
            }
        }
        if (!any) {
            text((left + right) / 2, (top + bottom) / 2, 14, "middle", "fill='#777777'", "no data");
        }
        drawLegend();
        svg.line("</svg>");
        return svg.toString();
    }

    private void drawAxes() {
        svg.line("<g class='axis-y'>");
        for (Scale.Tick tick : yScale.ticks()) {
            double y = y(tick.value());
            if (tick.major()) {
                svg.line("<path d='M%s,%sH%s' stroke='%s'/>", px(left), px(y), px(right), GRID);
                text(left - 10, y + 4, 12, "end", "", tick.label());
            }
            svg.line("<path d='M%s,%sh%s' stroke='%s'/>", px(left), px(y), tick.major() ? "-6" : "-3", INK);
        }
        svg.line("</g>");
        svg.line("<g class='axis-x'>");
        double lastLabelEnd = Double.NEGATIVE_INFINITY;
        for (Scale.Tick tick : xScale.ticks()) {
            double x = x(tick.value());
            svg.line("<path d='M%s,%sv%s' stroke='%s'/>", px(x), px(bottom), tick.major() ? "6" : "3", INK);
            double half = textWidth(tick.label(), 12) / 2;
            if (tick.major() && x - half > lastLabelEnd + 6) {
                text(x, bottom + 21, 12, "middle", "", tick.label());
                lastLabelEnd = x + half;
            }
        }
        svg.line("</g>");
        svg.line("<path d='M%s,%sV%sH%s' fill='none' stroke='%s'/>", px(left), px(top), px(bottom), px(right), INK);
        String xLabel = chart.x().label();
        text((left + right) / 2, bottom + 46, fitting(xLabel, right - left), "middle", "class='label-x'", xLabel);
        String yLabel = chart.y().label();
        double middle = (top + bottom) / 2;
        String turned = "class='label-y' transform='rotate(-90 22 " + px(middle) + ")'";
        text(22, middle, fitting(yLabel, bottom - top), "middle", turned, yLabel);
    }

    /** Draws series {@code index}; false if it has no point that could be drawn. */
    private boolean drawSeries(int index) {
        Series series = chart.series().get(index);
        Look look = looks.get(index);
        svg.line("<g class='%s'>", series.ours() ? "series" : series.paper() ? "series paper" : "series measured");
        svg.line("<title>%s</title>", escaped(series.label()));
        List<List<Pixel>> runs = runs(series);
        int points = runs.stream().mapToInt(List::size).sum();
        boolean dense = points > MARK_ALL;
        StringBuilder path = new StringBuilder();
        for (List<Pixel> run : runs) {
            String command = "M";
            for (Pixel point : run.size() > 1 && hasLine(series) ? thinned(run) : List.<Pixel>of()) {
                path.append(command).append(px(point.x())).append(',').append(px(point.y()));
                command = "L";
            }
        }
        if (!path.isEmpty()) {
            svg.line(
                    "<path class='line' d='%s' fill='none' stroke='%s' stroke-width='%s' stroke-linejoin='round'%s/>",
                    path, look.colour(), dense || !series.ours() ? "1.5" : "2", dash(look));
        }
        double spacing = dense ? (right - left) / 12 : 0;
        // Every series starts its spaced markers elsewhere, so that those of lines that coincide do not.
        double next = left + spacing * (index % 5) / 5;
        for (List<Pixel> run : runs) {
            for (Pixel point : run) {
                if (spacing == 0 || run.size() == 1 || point.x() >= next) {
                    marker(point, look, !series.ours());
                    next = Math.max(next, point.x()) + spacing;
                }
            }
        }
        svg.line("</g>");
        return points > 0;
    }

    private void drawLegend() {
        if (legend.isEmpty()) {
            return;
        }
        int lines = legend.stream().mapToInt(List::size).sum();
        // Shrinks rather than runs out of the picture; a chart with that many lines is hard to read anyway.
        double scale = Math.min(1, (HEIGHT - top - 16) / (lines * 16.0 + legend.size() * 6.0));
        double x = right + 20;
        double y = top + 8;
        svg.line("<g class='legend'>");
        for (int i = 0; i < legend.size(); i++) {
            Look look = looks.get(i);
            Series series = chart.series().get(i);
            if (hasLine(series)) {
                svg.line(
                        "<path d='M%s,%sh32' stroke='%s' stroke-width='%s'%s/>",
                        px(x), px(y), look.colour(), series.ours() ? "2" : "1.5", dash(look));
            }
            marker(new Pixel(x + 16, y), look, !series.ours());
            for (String label : legend.get(i)) {
                text(x + 42, y + 4 * scale, 12 * scale, "start", "", label);
                y += 16 * scale;
            }
            y += 6 * scale;
        }
        svg.line("</g>");
    }

    private static boolean hasLine(Series series) {
        return series.origin() != LineChart.Origin.MEASURED;
    }

    private void marker(Pixel at, Look look, boolean hollow) {
        double radius = hollow ? 5.5 : 3.8;
        String paint = hollow
                ? "fill='none' stroke='" + look.colour() + "' stroke-width='1.5'"
                : "fill='" + look.colour() + "'";
        if (look.shape().length == 0) {
            svg.line("<circle cx='%s' cy='%s' r='%s' %s/>", px(at.x()), px(at.y()), px(radius), paint);
            return;
        }
        StringBuilder corners = new StringBuilder();
        for (int i = 0; i < look.shape().length; i += 2) {
            corners.append(px(at.x() + radius * look.shape()[i]))
                    .append(',')
                    .append(px(at.y() + radius * look.shape()[i + 1]))
                    .append(' ');
        }
        svg.line("<polygon points='%s' %s/>", corners.toString().trim(), paint);
    }

    /** The unbroken stretches of a series. */
    private List<List<Pixel>> runs(Series series) {
        List<List<Pixel>> runs = new ArrayList<>();
        List<Pixel> run = new ArrayList<>();
        for (int i = 0; i < series.xs().length; i++) {
            double xValue = series.xs()[i];
            double yValue = i < series.ys().length ? series.ys()[i] : Double.NaN;
            if (drawable(xValue, yValue)) {
                run.add(new Pixel(x(xValue), y(yValue)));
            } else if (!run.isEmpty()) {
                runs.add(run);
                run = new ArrayList<>();
            }
        }
        if (!run.isEmpty()) {
            runs.add(run);
        }
        return runs;
    }

    /** Of the points that share a column of pixels only the first, lowest, highest and last: it looks the same. */
    private static List<Pixel> thinned(List<Pixel> run) {
        if (run.size() < 4 * WIDTH) {
            return run;
        }
        List<Pixel> kept = new ArrayList<>();
        for (int from = 0, to; from < run.size(); from = to) {
            int lowest = from;
            int highest = from;
            for (to = from;
                    to < run.size()
                            && (int) run.get(to).x() == (int) run.get(from).x();
                    to++) {
                lowest = run.get(to).y() > run.get(lowest).y() ? to : lowest;
                highest = run.get(to).y() < run.get(highest).y() ? to : highest;
            }
            Arrays.stream(new int[] {from, lowest, highest, to - 1})
                    .sorted()
                    .distinct()
                    .mapToObj(run::get)
                    .forEach(kept::add);
        }
        return kept;
    }

    private boolean drawable(double xValue, double yValue) {
        return Scale.drawable(xValue, chart.x().logarithmic())
                && Scale.drawable(yValue, chart.y().logarithmic());
    }

    /** One coordinate of all points that can be drawn, in the chart's own units. */
    private double[] drawn(DoubleBinaryOperator coordinate) {
        return chart.series().stream()
                .flatMapToDouble(series -> drawn(series, coordinate))
                .toArray();
    }

    private DoubleStream drawn(Series series, DoubleBinaryOperator coordinate) {
        return IntStream.range(0, Math.min(series.xs().length, series.ys().length))
                .filter(i -> drawable(series.xs()[i], series.ys()[i]))
                .mapToDouble(i -> coordinate.applyAsDouble(series.xs()[i], series.ys()[i]));
    }

    /** Ours take colours and markers in turn; others take those of the series of ours that they repeat. */
    private static List<Look> looks(List<Series> all) {
        Look[] looks = new Look[all.size()];
        int next = 0;
        for (int i = 0; i < looks.length; i++) {
            if (all.get(i).ours()) {
                looks[i] = look(next++, false);
            }
        }
        for (int i = 0; i < looks.length; i++) {
            if (!all.get(i).ours()) {
                int twin = twin(all, i);
                looks[i] = twin < 0 ? look(next++, true) : new Look(looks[twin].colour(), looks[twin].shape(), "7 4");
            }
        }
        return List.of(looks);
    }

    private static Look look(int index, boolean paper) {
        String dash = paper ? "7 4" : index < COLOURS.size() ? "" : "2 3";
        return new Look(COLOURS.get(index % COLOURS.size()), SHAPES[index % SHAPES.length], dash);
    }

    /** The series of ours with the longest label that the label of {@code other} contains, or -1. */
    private static int twin(List<Series> all, int other) {
        String label = all.get(other).label().toLowerCase(Locale.ROOT);
        int best = -1;
        for (int i = 0; i < all.size(); i++) {
            String ours = all.get(i).label().toLowerCase(Locale.ROOT);
            if (all.get(i).ours()
                    && !ours.isBlank()
                    && names(label, ours)
                    && (best < 0 || ours.length() > all.get(best).label().length())) {
                best = i;
            }
        }
        return best;
    }

    /** Whether {@code label} contains {@code word} as a whole: "k = 10" does not name "k = 1". */
    private static boolean names(String label, String word) {
        int at = label.indexOf(word);
        int end = at + word.length();
        return at >= 0
                && (at == 0 || !Character.isLetterOrDigit(label.charAt(at - 1)))
                && (end == label.length() || !Character.isLetterOrDigit(label.charAt(end)));
    }

    private String legendLabel(Series series) {
        String label = series.label();
        if (series.paper() && !label.toLowerCase(Locale.ROOT).contains("paper")) {
            label += " (paper)";
        }
        if (drawn(series, (x, y) -> x).findAny().isPresent()) {
            return label;
        }
        // A logarithmic axis has no place for zero, yet "nobody waited" is a result and not a missing one.
        boolean zero = series.ys().length > 0 && Arrays.stream(series.ys()).allMatch(y -> y == 0);
        return label + (zero ? " (0\u00A0throughout)" : " (no\u00A0data)");
    }

    private static String dash(Look look) {
        return look.dash().isEmpty() ? "" : " stroke-dasharray='" + look.dash() + "'";
    }

    private double x(double value) {
        return left + INSET + xScale.at(value) * (right - left - 2 * INSET);
    }

    private double y(double value) {
        return bottom - yScale.at(value) * (bottom - top);
    }

    private void text(double x, double y, double size, String anchor, String attributes, String content) {
        svg.line(
                "<text x='%s' y='%s' font-size='%s' text-anchor='%s' %s>%s</text>",
                px(x), px(y), px(size), anchor, attributes, escaped(content));
    }

    private static double textWidth(String text, double size) {
        return CHARACTER * size * text.length();
    }

    private static double fitting(String text, double room) {
        return Math.max(8, Math.min(13, 13 * room / Math.max(1, textWidth(text, 13))));
    }

    /** Breaks at spaces after at most {@code width} characters; a longer word stays whole. */
    private static List<String> wrap(String text, int width) {
        List<String> lines = new ArrayList<>();
        StringBuilder current = new StringBuilder();
        for (String word : text.strip().split("\\s+")) {
            if (!current.isEmpty() && current.length() + 1 + word.length() > width) {
                lines.add(current.toString());
                current.setLength(0);
            }
            current.append(current.isEmpty() ? "" : " ").append(word);
        }
        lines.add(current.toString());
        return lines;
    }
}
