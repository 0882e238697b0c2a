package io.weir.supervisor.lab.workflow;

import io.weir.limiter.simulation.Sample;
import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.chart.LineChart.Axis;
import io.weir.supervisor.chart.LineChart.Series;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** A latency's median second by second, as the paper's figures draw it. */
final class Course {
    private Course() {}

    /** NaN for seconds in which nothing was done. */
    static double[] medians(List<Sample> seconds) {
        return seconds.stream()
                .mapToDouble(second -> second.size() == 0 ? Double.NaN : second.quantile(0.5))
                .toArray();
    }

    static LineChart chart(String file, String title, Map<String, double[]> mediansMs) {
        List<Series> series = new ArrayList<>();
        mediansMs.forEach((name, medians) -> {
            double[] seconds =
                    IntStream.range(0, medians.length).asDoubleStream().toArray();
            series.add(new Series(name, seconds, medians, false));
        });
        return new LineChart(file, title, new Axis("s", false), new Axis("ms", true), series);
    }
}
