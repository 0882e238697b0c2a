package io.weir.transport.client;

import java.util.function.DoubleSupplier;

/**
 * Takes figures that can be read at any time, from any thread; for Micrometer: {@code (name, value) ->
 * registry.gauge(name, value, DoubleSupplier::getAsDouble)}.
 */
@FunctionalInterface
public interface GaugeSink {
    void gauge(String name, DoubleSupplier value);
}
