package io.weir.cluster.chaos.client;

import io.weir.config.Endpoint;
import io.weir.supervisor.cli.client.NsqConnection;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Publishes over one connection to one broker, one message at a time, at a rate that may change. A connection that
 * breaks is opened again.
 */
public abstract class PacedPublisher extends Thread {
    private static final int CONNECT_WITHIN_MS = 2_000;
    private static final int SILENT_MS = 15_000;
    private static final long AGAIN_NS = TimeUnit.MILLISECONDS.toNanos(300);
    /** The rate may change meanwhile. */
    private static final long LONGEST_PARK_NS = TimeUnit.MILLISECONDS.toNanos(100);
    /** A publisher that was held up does not make up for all of it at once. */
    private static final long LONGEST_BACKLOG_NS = TimeUnit.SECONDS.toNanos(1);

    private final Endpoint broker;
    private volatile double perSecond;
    private volatile boolean ended;
    private volatile NsqConnection current;

    protected PacedPublisher(String name, Endpoint broker) {
        super(name);
        setDaemon(true);
        this.broker = broker;
    }

    /** Publishes one message and waits for its answer. */
    protected abstract void publish(NsqConnection connection) throws IOException;

    /** From now on so many messages a second; 0: none. */
    public final void pace(double messagesPerSecond) {
        perSecond = messagesPerSecond;
    }

    /** Publishes no more; what has no answer yet stays unknown. */
    public final void end() {
        ended = true;
        NsqConnection open = current;
        if (open != null) {
            try {
                open.close();
            } catch (IOException e) {
                // It is as closed as it gets.
            }
        }
    }

    @Override
    public final void run() {
        while (!ended) {
            try (NsqConnection connection = NsqConnection.open(broker, CONNECT_WITHIN_MS)) {
                current = connection;
                connection.waitAtMost(SILENT_MS);
                publishAll(connection);
            } catch (IOException e) {
                LockSupport.parkNanos(AGAIN_NS);
            }
        }
    }

    private void publishAll(NsqConnection connection) throws IOException {
        long dueNs = System.nanoTime();
        while (!ended) {
            double rate = perSecond;
            long nowNs = System.nanoTime();
            if (rate <= 0 || nowNs - dueNs > LONGEST_BACKLOG_NS) {
                dueNs = nowNs;
            }
            if (rate <= 0 || dueNs - nowNs > 0) {
                LockSupport.parkNanos(rate <= 0 ? LONGEST_PARK_NS : Math.min(dueNs - nowNs, LONGEST_PARK_NS));
                continue;
            }
            publish(connection);
            dueNs += (long) (1e9 / rate);
        }
    }
}
