/**
 * Charts as SVG pictures: {@link io.weir.supervisor.chart.LineChart} for the lab's experiments,
 * {@link io.weir.supervisor.chart.TimeChart} for the reports of chaos runs, on one kind of axis and one writer.
 */
package io.weir.supervisor.chart;
