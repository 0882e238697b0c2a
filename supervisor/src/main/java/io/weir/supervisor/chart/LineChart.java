package io.weir.supervisor.chart;

import java.util.List;

/** Lines over two axes; {@code fileName} without an ending. */
public record LineChart(String fileName, String title, Axis x, Axis y, List<Series> series) {
    /** An axis; on a logarithmic one only positive values are drawn. */
    public record Axis(String label, boolean logarithmic) {}

    /** Where numbers come from: what was computed here, the paper's own, or what was measured on real brokers. */
    public enum Origin {
        OURS,
        PAPER,
        MEASURED
    }

    /** A line; the paper's is drawn apart from ours, and what was measured as points without a line. */
    public record Series(String label, double[] xs, double[] ys, Origin origin) {
        public Series(String label, double[] xs, double[] ys, boolean paper) {
            this(label, xs, ys, paper ? Origin.PAPER : Origin.OURS);
        }

        public boolean paper() {
            return origin == Origin.PAPER;
        }

        boolean ours() {
            return origin == Origin.OURS;
        }
    }

    /** The picture as a complete SVG document. */
    public String svg() {
        return new LinePicture(this).draw();
    }
}
