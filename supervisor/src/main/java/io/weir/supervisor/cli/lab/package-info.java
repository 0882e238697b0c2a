/** {@code weir lab} and {@code weir model}: experiments and forecasts, printed and written to files. */
package io.weir.supervisor.cli.lab;
