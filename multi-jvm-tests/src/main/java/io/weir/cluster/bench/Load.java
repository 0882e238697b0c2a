package io.weir.cluster.bench;

import java.time.Duration;

/**
 * What is put on a broker.
 *
 * @param shape what is sent when
 * @param connections that publish
 * @param consumers connections that consume, all of them in one channel
 * @param credit messages that a consumer takes before it acknowledges one (NSQ's RDY)
 * @param drain how long to wait after the end for what was sent
 */
public record Load(
        Shape shape,
        int connections,
        int consumers,
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

    /** Messages that go together. */
    public record Batch(int messages, As as) {
        /** How they go. */
        public enum As {
            /** That many publishes in one write, each with its own answer. */
            pubs,
            /**
             * One publish with one answer where the protocol has that, as NSQ's MPUB; else the same as {@link #pubs}.
             */
            mpub
        }

        public static final Batch NONE = new Batch(1, As.pubs);
    }

    /** What is sent when. */
    public sealed interface Shape {
        Batch batch();

        /**
         * Messages at a pace that nothing the broker does changes; a publisher sends a batch at a time. Publishers of
         * one group send at the same instants; as many groups as publishers: each for itself.
         */
        record OpenLoop(
                double messagesPerSecond,
                int publishers,
                int groups,
                Batch batch,
                SendSchedule.Distribution distribution,
                long seed)
                implements Shape {
            /** A group is a run of neighbours in number, so that it spreads over connections and brokers. */
            public int firstOf(int group) {
                return (int) ((long) group * publishers / groups);
            }

            /** The intended times, from {@code startNs} on. */
            public SendSchedule schedule(long startNs) {
                return new SendSchedule(
                        distribution,
                        groups,
                        messagesPerSecond / batch.messages() * groups / publishers,
                        startNs,
                        seed);
            }

            /** The intended times of the first so many messages. */
            public long[] trace(int messages) {
                SendSchedule schedule = schedule(0);
                long[] trace = new long[messages];
                for (int i = 0; i < trace.length; schedule.advance()) {
                    int group = schedule.nextPublisher();
                    int together = (firstOf(group + 1) - firstOf(group)) * batch.messages();
                    for (int end = Math.min(trace.length, i + together); i < end; i++) {
                        trace[i] = schedule.nextNs();
                    }
                }
                return trace;
            }
        }

        /**
         * As many as the broker takes: a batch a write, at most {@code window} unacknowledged on a connection, and at
         * most window times connections on their way to the consumer, so that a broker's queue does not become the
         * measurement.
         */
        record Pipelined(Batch batch, int window) implements Shape {}

        /** So many messages into a channel whose consumers take none before all are in; then they take them all. */
        record Queued(int messages, Batch batch, int window) implements Shape {}
    }

    /** What the generator's thread does when there is nothing to do. */
    public enum Pause {
        /** Looks again at once, after anyone else who wants the processor: exact, and takes an idle core. */
        yield,
        /**
         * Sleeps for some tens of microseconds: leaves the processor to the broker, and adds its own wake-up to what it
         * measures.
         */
        park
    }

    Load lasting(Duration newWarmUp, Duration newMeasured) {
        return new Load(
                shape, connections, consumers, bodyBytes, topic, channel, credit, newWarmUp, newMeasured, drain, pause);
    }
}
