package io.weir.supervisor.chart;

import java.util.List;

/** Lines over two axes; {@code fileName} without an ending. */
public record LineChart(String fileName, String title, Axis x, Axis y, List<Series> series) {
    /** An axis; on a logarithmic one only positive values are drawn. */
    public record Axis(String label, boolean logarithmic) {}

    /** A line; {@code paper} marks the paper's own numbers, drawn apart from ours. */
    public record Series(String label, double[] xs, double[] ys, boolean paper) {}

    /** The picture as a complete SVG document. */
    public String svg() {
        return new LinePicture(this).draw();
    }
}
