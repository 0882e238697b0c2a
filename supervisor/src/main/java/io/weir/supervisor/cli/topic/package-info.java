/** {@code weir topic}, {@code channel} and {@code placement}: looking at topics and changing them. */
package io.weir.supervisor.cli.topic;
