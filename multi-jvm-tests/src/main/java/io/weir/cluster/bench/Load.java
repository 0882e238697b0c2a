package io.weir.cluster.bench;

import java.time.Duration;

/**
 * What is put on a broker.
 *
 * @param shape what is sent when
 * @param credit messages that the consumer takes before it acknowledges one (NSQ's RDY)
 * @param drain how long to wait after the end for what was sent
 */
record Load(
        Shape shape,
        int connections,
        int bodyBytes,
        String topic,
        String channel,
        int credit,
        Duration warmUp,
        Duration measured,
        Duration drain,
        Pause pause) {
    /** A body holds the run's number and the intended time. */
    static final int MIN_BODY_BYTES = 16;

    static final int MAX_BODY_BYTES = 1 << 20;

    /** What is sent when. */
    sealed interface Shape {
        /** Messages at a pace that nothing the broker does changes; a publisher sends {@code batch} of them at a time. */
        record OpenLoop(
                double messagesPerSecond, int publishers, int batch, Schedule.Distribution distribution, long seed)
                implements Shape {}

        /**
         * As many as the broker takes: {@code batch} publishes a write, at most {@code window} unacknowledged on a connection, and at most
         * window times connections on their way to the consumer, so that a broker's queue does not become the measurement.
         */
        record Pipelined(int batch, int window) implements Shape {}
    }

    /** What the generator's thread does when there is nothing to do. */
    enum Pause {
        /** Looks again at once, after anyone else who wants the processor: exact, and takes an idle core. */
        yield,
        /** Sleeps for some tens of microseconds: leaves the processor to the broker, and adds its own wake-up to what it measures. */
        park
    }

    Load lasting(Duration newWarmUp, Duration newMeasured) {
        return new Load(shape, connections, bodyBytes, topic, channel, credit, newWarmUp, newMeasured, drain, pause);
    }
}
