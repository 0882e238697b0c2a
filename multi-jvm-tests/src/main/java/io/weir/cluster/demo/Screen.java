package io.weir.cluster.demo;

import io.weir.cluster.demo.Picture.BrokerView;
import io.weir.cluster.demo.Picture.Event;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Draws a picture as lines of text, no longer and no more than the terminal has. */
final class Screen {
    /** Below this there is no room for bars. */
    static final int LEAST_WIDTH = 40;

    static final int LEAST_HEIGHT = 12;
    private static final String EIGHTHS = " ▁▂▃▄▅▆▇█";
    private static final int AXIS = 7;
    private static final int MOST_CHART = 10;
    private static final int LEAST_CHART = 3;
    private static final int NAMES = 5;
    private static final int NUMBERS = 7;

    private static final String BOLD = "\u001b[1m";
    private static final String DIM = "\u001b[2m";
    private static final String RED = "\u001b[31m";
    private static final String GREEN = "\u001b[32m";
    private static final String YELLOW = "\u001b[33m";
    private static final String BLUE = "\u001b[34m";
    private static final String PLAIN = "\u001b[0m";

    private final int width;
    private final int height;
    private final boolean colours;

    Screen(int width, int height, boolean colours) {
        this.width = width;
        this.height = height;
        this.colours = colours;
    }

    List<String> lines(Picture picture) {
        List<String> lines = new ArrayList<>();
        String title = "Weir: at most " + number(picture.rate()) + " messages/s (burst " + number(picture.burst())
                + ") on " + picture.brokers().size() + " brokers together";
        lines.add(ends(BOLD, title, clock(picture.seconds())));
        lines.add(ends(YELLOW, "▶ " + picture.headline(), ""));
        int rest = height - lines.size() - picture.brokers().size() - 3;
        int events = Math.min(picture.events().size(), Math.max(1, rest - MOST_CHART - 3));
        chart(lines, picture, Math.max(LEAST_CHART, Math.min(MOST_CHART, rest - events - 2)));
        brokers(lines, picture);
        events(lines, picture, height - lines.size() - 1);
        while (lines.size() < height - 1) {
            lines.add("");
        }
        List<String> shown = new ArrayList<>(lines.subList(0, height - 1));
        shown.add(paint(DIM, cut("any key ends the demo", width)));
        return shown;
    }

    private void chart(List<String> lines, Picture picture, int rows) {
        List<Double> admitted = picture.admitted();
        double now = admitted.isEmpty() ? 0 : admitted.get(admitted.size() - 1);
        lines.add(ends(DIM, "let through by all brokers, messages/s", number(now) + "/s"));
        double top = picture.rate() + Math.max(picture.burst(), picture.rate() / rows);
        int columns = width - AXIS;
        int first = Math.max(0, admitted.size() - columns);
        // The limit is the upper edge of a row, so that a rate at the limit fills it.
        int limitRow = Math.max(1, Math.min(rows - 1, (int) Math.round(rows * picture.rate() / top))) - 1;
        double perRow = picture.rate() / (limitRow + 1);
        for (int row = rows - 1; row >= 0; row--) {
            String axis = row == limitRow
                    ? number(picture.rate())
                    : row == rows - 1 ? number(perRow * rows) : row == 0 ? "0" : "";
            StringBuilder line = new StringBuilder(paint(DIM, String.format(Locale.ROOT, "%5s ", axis)));
            line.append(row == limitRow ? paint(RED, "┤") : paint(DIM, "│"));
            line.append(row(admitted.subList(first, admitted.size()), row, perRow, row == limitRow, columns));
            lines.add(line.toString());
        }
    }

    /** Neighbours of one colour in one go: a terminal over a slow line has little to draw. */
    private String row(List<Double> admitted, int row, double perRow, boolean limit, int columns) {
        StringBuilder bars = new StringBuilder();
        for (double value : admitted) {
            int eighths = (int) Math.round((value / perRow - row) * 8);
            bars.append(EIGHTHS.charAt(Math.max(0, Math.min(8, eighths))));
        }
        StringBuilder line = new StringBuilder();
        int at = 0;
        while (at < columns) {
            boolean bar = at < bars.length() && bars.charAt(at) != ' ';
            int end = at;
            while (end < columns && (end < bars.length() && bars.charAt(end) != ' ') == bar) {
                end++;
            }
            if (bar) {
                line.append(paint(GREEN, bars.substring(at, end)));
            } else {
                line.append(limit ? paint(RED, "┄".repeat(end - at)) : " ".repeat(end - at));
            }
            at = end;
        }
        return limit ? line.toString() : line.toString().stripTrailing();
    }

    private void brokers(List<String> lines, Picture picture) {
        int bars = (width - NAMES - 2 * NUMBERS - 4) / 2;
        double most = Math.max(
                picture.rate(),
                picture.brokers().stream().mapToDouble(BrokerView::demand).max().orElse(0));
        lines.add(paint(
                DIM,
                cut(
                        String.format(
                                Locale.ROOT,
                                "%-" + NAMES + "s%-" + (bars + NUMBERS + 2) + "s%s",
                                "",
                                "share of the limit",
                                "demand"),
                        width)));
        for (BrokerView broker : picture.brokers()) {
            String name = String.format(Locale.ROOT, "%-" + NAMES + "s", cut(broker.id(), NAMES - 1));
            if (!broker.trouble().isEmpty()) {
                lines.add(name + paint(RED, cut(broker.trouble(), width - NAMES)));
                continue;
            }
            lines.add(name + bar(BLUE, broker.share(), picture.rate(), bars) + " " + padded(broker.share()) + " "
                    + bar(YELLOW, broker.demand(), most, bars) + " " + padded(broker.demand()));
        }
    }

    private String bar(String colour, double value, double whole, int cells) {
        int eighths = (int) Math.round(Math.max(0, Math.min(1, value / whole)) * cells * 8);
        // From the left: ▏▎▍▌▋▊▉█.
        String full =
                "█".repeat(eighths / 8) + (eighths % 8 == 0 ? "" : String.valueOf((char) ('█' + 8 - eighths % 8)));
        return paint(colour, full) + paint(DIM, "·".repeat(cells - full.length()));
    }

    private static String padded(double value) {
        return String.format(Locale.ROOT, "%" + (NUMBERS - 1) + "s", number(value) + "/s");
    }

    private void events(List<String> lines, Picture picture, int room) {
        List<Event> all = picture.events();
        if (room < 2 || all.isEmpty()) {
            return;
        }
        lines.add("");
        for (Event event : all.subList(Math.max(0, all.size() - room + 1), all.size())) {
            lines.add(paint(DIM, clock(event.seconds())) + " " + cut(event.text(), width - 6));
        }
    }

    /** Left and right on one line. */
    private String ends(String colour, String left, String right) {
        String shown = cut(left, width - right.length() - (right.isEmpty() ? 0 : 1));
        return paint(colour, shown) + " ".repeat(Math.max(0, width - shown.length() - right.length())) + right;
    }

    private String paint(String colour, String text) {
        return colours && !text.isEmpty() ? colour + text + PLAIN : text;
    }

    static String cut(String text, int most) {
        return text.length() <= most ? text : most < 1 ? "" : text.substring(0, most - 1) + "…";
    }

    /** What is most important, where there is no room for more. */
    static List<String> small(Picture picture, int width, int height) {
        List<String> lines = new ArrayList<>();
        lines.add(picture.headline());
        List<Double> admitted = picture.admitted();
        lines.add(number(admitted.isEmpty() ? 0 : admitted.get(admitted.size() - 1)) + "/s of " + number(picture.rate())
                + "/s");
        picture.brokers()
                .forEach(broker -> lines.add(broker.id() + " "
                        + (broker.trouble().isEmpty() ? number(broker.share()) + "/s" : broker.trouble())));
        return lines.stream()
                .limit(Math.max(1, height))
                .map(line -> cut(line, width))
                .toList();
    }

    /** One line of all of it, for whoever has no screen. */
    static String line(Picture picture) {
        StringBuilder line = new StringBuilder();
        List<Double> admitted = picture.admitted();
        line.append(String.format(
                Locale.ROOT,
                "%s  %s/s of %s/s;",
                clock(picture.seconds()),
                number(admitted.isEmpty() ? 0 : admitted.get(admitted.size() - 1)),
                number(picture.rate())));
        for (BrokerView broker : picture.brokers()) {
            line.append(
                    broker.trouble().isEmpty()
                            ? String.format(
                                    Locale.ROOT,
                                    "  %s share %s, demand %s",
                                    broker.id(),
                                    number(broker.share()),
                                    number(broker.demand()))
                            : "  " + broker.id() + " " + broker.trouble());
        }
        return line.toString();
    }

    static String clock(double seconds) {
        long whole = (long) seconds;
        return String.format(Locale.ROOT, "%d:%02d", whole / 60, whole % 60);
    }

    static String number(double value) {
        return Long.toString(Math.round(value));
    }
}
