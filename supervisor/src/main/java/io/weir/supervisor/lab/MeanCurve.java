package io.weir.supervisor.lab;

import io.weir.limiter.simulation.Sample;
import io.weir.supervisor.chart.LineChart.Series;
import io.weir.supervisor.lab.LabReport.Estimate;

/** A line over time that is the mean of one line a seed, sampled at the same moments. */
public final class MeanCurve {
    private final double spacing;
    private final Sample[] points;

    public MeanCurve(double spacing, int points) {
        this.spacing = spacing;
        this.points = new Sample[points];
        for (int i = 0; i < points; i++) {
            this.points[i] = new Sample();
        }
    }

    public void add(int point, double y) {
        points[point].add(y);
    }

    public double at(int point) {
        return points[point].mean();
    }

    public double least(int from, int to) {
        double least = Double.POSITIVE_INFINITY;
        for (int i = from; i < to; i++) {
            least = Math.min(least, at(i));
        }
        return least;
    }

    public Series series(String label) {
        double[] xs = new double[points.length];
        double[] ys = new double[points.length];
        for (int i = 0; i < points.length; i++) {
            xs[i] = i * spacing;
            ys[i] = at(i);
        }
        return new Series(label, xs, ys, false);
    }

    public static Estimate estimate(Sample sample) {
        return new Estimate(sample.mean(), sample.halfWidth95());
    }
}
