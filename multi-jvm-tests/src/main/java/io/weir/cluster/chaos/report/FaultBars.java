package io.weir.cluster.chaos.report;

import io.weir.cluster.history.History;
import io.weir.cluster.history.History.BrokerState;
import io.weir.cluster.history.History.Nemesis;
import io.weir.supervisor.chart.TimeChart;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * When which fault was there: a bar for each, in as few rows as they fit in. Rows below them show when each broker was
 * down.
 */
final class FaultBars {
    /** A fault from its start to its end. */
    record Span(double from, double to, String fault, String text) {
        String label() {
            return text.isEmpty() ? fault : fault + ": " + text;
        }

        /** Which colour it has. */
        String style() {
            String name = fault.toLowerCase(Locale.ROOT);
            for (Map.Entry<String, String> each : FAMILIES.entrySet()) {
                if (name.contains(each.getKey())) {
                    return each.getValue();
                }
            }
            return "other";
        }
    }

    private static final Map<String, String> FAMILIES = new LinkedHashMap<>();
    private static final int ROW = 18;
    private static final int THICK = 15;
    private static final int MOST_ROWS = 12;

    static {
        FAMILIES.put("store", "store");
        FAMILIES.put("kill", "kill");
        FAMILIES.put("crash", "kill");
        FAMILIES.put("failpoint", "kill");
        FAMILIES.put("pause", "pause");
        FAMILIES.put("cpu", "pause");
        FAMILIES.put("quota", "pause");
        FAMILIES.put("clock", "clock");
        FAMILIES.put("partition", "cut");
        FAMILIES.put("cut", "cut");
        FAMILIES.put("packet", "packet");
        FAMILIES.put("loss", "packet");
        FAMILIES.put("delay", "packet");
        FAMILIES.put("limit", "limit");
        FAMILIES.put("join", "limit");
        FAMILIES.put("leave", "limit");
    }

    private final TimeBins bins;
    private final List<Span> spans;
    private final Map<String, List<double[]>> down;

    FaultBars(History history, TimeBins bins) {
        this.bins = bins;
        spans = spans(history, bins);
        down = down(history, bins);
    }

    static List<Span> spans(History history, TimeBins bins) {
        List<Span> spans = new ArrayList<>();
        Map<String, Integer> open = new HashMap<>();
        double healed = history.phase("healed").map(bins::seconds).orElse(bins.spanSeconds());
        for (Nemesis fault : history.faults()) {
            String which = fault.fault() + fault.hosts();
            double at = bins.seconds(fault.atNs());
            Integer begun = fault.start() ? null : open.remove(which);
            if (fault.start()) {
                open.put(which, spans.size());
                String text = fault.text().isEmpty() ? String.join(" ", fault.hosts()) : fault.text();
                spans.add(new Span(at, Double.NaN, fault.fault(), text));
            } else if (begun != null) {
                Span span = spans.get(begun);
                spans.set(begun, new Span(span.from, at, span.fault, span.text));
            }
        }
        // One that nobody ended lasted until all was healed.
        spans.replaceAll(span ->
                Double.isNaN(span.to) ? new Span(span.from, Math.max(span.from, healed), span.fault, span.text) : span);
        return spans;
    }

    private static Map<String, List<double[]>> down(History history, TimeBins bins) {
        Map<String, List<double[]>> down = new TreeMap<>();
        for (BrokerState state : history.brokerStates()) {
            List<double[]> all = down.computeIfAbsent(state.broker(), broker -> new ArrayList<>());
            boolean isDown = !all.isEmpty() && Double.isNaN(all.get(all.size() - 1)[1]);
            double at = bins.seconds(state.atNs());
            if (!state.up() && !isDown) {
                all.add(new double[] {at, Double.NaN});
            } else if (state.up() && isDown) {
                all.get(all.size() - 1)[1] = at;
            }
        }
        down.values().removeIf(List::isEmpty);
        down.values()
                .forEach(all -> all.forEach(span -> span[1] = Double.isNaN(span[1]) ? bins.spanSeconds() : span[1]));
        return down;
    }

    boolean isEmpty() {
        return spans.isEmpty() && down.isEmpty();
    }

    List<Span> spans() {
        return spans;
    }

    String svg() {
        List<Integer> placed = place();
        int rows = placed.stream().mapToInt(row -> row + 1).max().orElse(0);
        TimeChart chart = TimeChart.rows(bins.span(), ROW * (rows + down.size()) + 4);
        for (int i = 0; i < spans.size(); i++) {
            Span span = spans.get(i);
            String title = String.format(
                    Locale.ROOT, "%s%nfrom %s to %s", span.label(), TimeChart.time(span.from), TimeChart.time(span.to));
            boolean crowded = placed.get(i) == MOST_ROWS - 1 && rows == MOST_ROWS;
            chart.bar(span.from, span.to, ROW * placed.get(i), THICK, span.style(), crowded ? "" : span.label(), title);
        }
        int row = rows;
        for (Map.Entry<String, List<double[]>> broker : down.entrySet()) {
            int y = ROW * row++;
            chart.rowName(y, THICK, broker.getKey());
            for (double[] span : broker.getValue()) {
                String title = String.format(
                        Locale.ROOT,
                        "%s down%nfrom %s to %s",
                        broker.getKey(),
                        TimeChart.time(span[0]),
                        TimeChart.time(span[1]));
                chart.bar(span[0], span[1], y, THICK, "down", "down", title);
            }
        }
        return chart.svg("faults over time");
    }

    /** The first row in which each has room for its words; what has none goes to the last row. */
    private List<Integer> place() {
        TimeChart scale = TimeChart.rows(bins.span(), ROW);
        double[] free = new double[MOST_ROWS];
        List<Integer> placed = new ArrayList<>();
        for (Span span : spans) {
            int row = 0;
            while (row < MOST_ROWS - 1 && free[row] > span.from) {
                row++;
            }
            double wordsEnd = scale.reach(span.from, span.label());
            double beside = scale.reach(span.to, span.label());
            free[row] = wordsEnd <= span.to ? span.to : beside;
            placed.add(row);
        }
        return placed;
    }
}
