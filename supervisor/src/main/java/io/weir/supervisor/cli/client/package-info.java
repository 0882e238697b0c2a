/** {@code weir pub}, {@code sub} and {@code broker calibrate}: commands that publish and consume over the gateway. */
package io.weir.supervisor.cli.client;
