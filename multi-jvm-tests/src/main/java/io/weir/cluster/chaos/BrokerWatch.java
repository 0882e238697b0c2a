package io.weir.cluster.chaos;

import io.weir.cluster.history.HistoryWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Sees brokers' processes end and come, and records it: with a process go the messages that it held. */
final class BrokerWatch implements AutoCloseable {
    private static final long LOOK_MS = 50;

    private final Ground ground;
    private final HistoryWriter history;
    private final Map<String, Boolean> up = new LinkedHashMap<>();
    private final Thread watching = new Thread(this::watch, "broker-watch");

    BrokerWatch(Ground ground, Scene scene, HistoryWriter history) {
        this.ground = ground;
        this.history = history;
        List<String> all = new ArrayList<>(scene.brokers());
        all.add(scene.spare());
        all.forEach(broker -> up.put(broker, false));
        watching.setDaemon(true);
        watching.start();
    }

    private void watch() {
        try {
            while (true) {
                up.replaceAll(this::look);
                TimeUnit.MILLISECONDS.sleep(LOOK_MS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean look(String broker, boolean before) {
        boolean now = ground.isAlive(broker);
        if (now != before) {
            history.broker(System.nanoTime(), broker, now);
        }
        return now;
    }

    @Override
    public void close() throws InterruptedException {
        watching.interrupt();
        watching.join(TimeUnit.SECONDS.toMillis(2));
    }
}
