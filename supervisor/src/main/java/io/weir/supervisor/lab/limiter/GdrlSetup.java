package io.weir.supervisor.lab.limiter;

import io.weir.limiter.algorithm.EdgeStep;
import io.weir.limiter.algorithm.Graph;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.simulation.SlottedLimiters;
import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.chart.LineChart.Axis;
import io.weir.supervisor.chart.LineChart.Series;
import io.weir.supervisor.lab.MeanCurve;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/** The parameters of gdrl's section III, which its three experiments share. */
final class GdrlSetup {
    static final double ALPHA = 1e-3;

    /** C is a tenth above the aggregate demand, which the paper also calls a load of 90%. */
    static final double HEADROOM = 1.1;

    /** Where all q_i meet: (Λ − C)/N, since Λ = N/2 for every N. */
    static final double Q_STAR = (1 - HEADROOM) / 2;

    private GdrlSetup() {}

    /** λ_i = i/(N+1); limiters are counted from 0 here and from 1 in the paper. */
    static double sorted(int limiter, int limiters) {
        return (limiter + 1.0) / (limiters + 1);
    }

    static double rate(int limiters) {
        return HEADROOM * limiters / 2.0;
    }

    /** Spare bandwidth with the largest gain that Theorem 1 allows, η = 1/(2d). */
    static SlottedLimiters limiters(
            Graph graph, double alpha, double rate, SlottedLimiters.Demand demand, RandomGenerator random) {
        int degree = graph.maxDegree();
        EdgeStep step = EdgeStep.synchronous(Indicator.SPARE_BANDWIDTH, 1.0 / (2 * degree), degree);
        return new SlottedLimiters(graph, step, alpha, rate, demand, random);
    }

    /** The performance indicators over time, a line for each limiter; {@code symbols} is how the axis names them. */
    static LineChart indicatorChart(String file, String title, String symbols, MeanCurve[] q) {
        List<Series> series = new ArrayList<>();
        for (int i = 0; i < q.length; i++) {
            series.add(q[i].series("q_" + (i + 1)));
        }
        return new LineChart(file, title, new Axis("time (slots)", false), new Axis(symbols, false), series);
    }

    /** Jain's fairness index of the indicators over time. */
    static LineChart fairnessChart(String file, String title, MeanCurve jain) {
        return new LineChart(
                file,
                title,
                new Axis("time (slots)", false),
                new Axis("JFI(q(t))", false),
                List.of(jain.series("GDRL, ring of 10")));
    }

    /** The JFI that remains when every q_i is off by an error of this variance. */
    static double jainWithError(double variance) {
        return Q_STAR * Q_STAR / (Q_STAR * Q_STAR + variance);
    }

    /** The variance that the low-pass filter leaves in the estimates: α/(2−α)·λ(1−λ), less its part in the mean. */
    static double filterVariance(double alpha, int limiters) {
        double sum = 0;
        for (int i = 0; i < limiters; i++) {
            double lambda = sorted(i, limiters);
            sum += lambda * (1 - lambda);
        }
        return alpha / (2 - alpha) * sum / limiters * (limiters - 1) / limiters;
    }
}
