package io.weir.cluster.chaos;

import io.weir.cluster.history.HistoryWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sees brokers' processes end and come, and records it: with a process go the messages that it held. */
final class BrokerWatch implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BrokerWatch.class);
    private static final long LOOK_MS = 50;

    private final Ground ground;
    private final HistoryWriter history;
    private final Map<String, Long> lives = new LinkedHashMap<>();
    private final Thread watching = new Thread(this::watch, "broker-watch");

    BrokerWatch(Ground ground, Scene scene, HistoryWriter history) {
        this.ground = ground;
        this.history = history;
        List<String> all = new ArrayList<>(scene.brokers());
        all.add(scene.spare());
        all.forEach(broker -> lives.put(broker, 0L));
        watching.setDaemon(true);
        watching.start();
    }

    private void watch() {
        try {
            while (true) {
                lives.replaceAll(this::look);
                TimeUnit.MILLISECONDS.sleep(LOOK_MS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IllegalStateException e) {
            LOG.debug("The stage is gone: {}", e.getMessage());
        }
    }

    private long look(String broker, long before) {
        long now = ground.process(broker);
        if (now != before) {
            if (before != 0) {
                history.broker(System.nanoTime(), broker, false);
            }
            if (now != 0) {
                history.broker(System.nanoTime(), broker, true);
            }
        }
        return now;
    }

    @Override
    public void close() throws InterruptedException {
        watching.interrupt();
        watching.join(TimeUnit.SECONDS.toMillis(2));
    }
}
