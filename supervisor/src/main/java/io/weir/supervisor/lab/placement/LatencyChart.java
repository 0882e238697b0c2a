package io.weir.supervisor.lab.placement;

import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.chart.LineChart.Axis;
import io.weir.supervisor.chart.LineChart.Series;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;

/** The 99th percentile latency over whole numbers, as SRTM's figures 7 to 11 show it. */
final class LatencyChart {
    private LatencyChart() {}

    /** @param p99Ms what each line shows at a number, by the line's label */
    static LineChart of(
            String file, String title, String xLabel, List<Integer> numbers, Map<String, IntToDoubleFunction> p99Ms) {
        double[] xs = numbers.stream().mapToDouble(Integer::doubleValue).toArray();
        List<Series> series = new ArrayList<>();
        p99Ms.forEach((label, at) -> series.add(new Series(
                label,
                xs,
                numbers.stream().mapToInt(Integer::intValue).mapToDouble(at).toArray(),
                false)));
        return new LineChart(
                file, title, new Axis(xLabel, false), new Axis("99th percentile latency (ms)", true), series);
    }
}
