package io.weir.supervisor.node;

import io.weir.config.value.TopicName;
import io.weir.limiter.supply.Gates;
import io.weir.limiter.supply.TopicGate;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * The thread that owns the gates until there is a message path: carries out their commands, and presses on them with as
 * much load as a test tells it to. What does not pass waits, up to a second's worth, as publishers would.
 */
final class LoadDriver implements Runnable, AutoCloseable {
    private static final long IDLE_NS = 1_000_000_000L;
    private static final long TICK_NS = 1_000_000L;

    private record Load(TopicName topic, double perSecond) {}

    private static final class Pressed {
        private final TopicGate gate;
        private double waiting;
        private double arrived;
        private long lastNs;

        Pressed(TopicGate gate, long nowNs) {
            this.gate = gate;
            this.lastNs = nowNs;
        }
    }

    private final Map<TopicName, Load> loads = new ConcurrentHashMap<>();
    private final Map<TopicName, Pressed> pressed = new ConcurrentHashMap<>();
    private final Thread thread = new Thread(this, "weir-gates");
    private volatile Gates gates;
    private volatile boolean stopped;

    void start(Gates ofThisBroker) {
        gates = ofThisBroker;
        thread.setDaemon(true);
        thread.start();
    }

    void wakeUp() {
        LockSupport.unpark(thread);
    }

    void press(TopicName topic, double perSecond) {
        if (perSecond <= 0) {
            loads.remove(topic);
        } else {
            loads.put(topic, new Load(topic, perSecond));
        }
        wakeUp();
    }

    @Override
    public void run() {
        while (!stopped) {
            long nowNs = System.nanoTime();
            gates.poll(nowNs);
            pressed.keySet().retainAll(loads.keySet());
            loads.values().forEach(load -> press(load, nowNs));
            LockSupport.parkNanos(loads.isEmpty() ? IDLE_NS : TICK_NS);
        }
    }

    private void press(Load load, long nowNs) {
        Pressed on = pressed.computeIfAbsent(load.topic, topic -> new Pressed(gates.gate(topic, nowNs), nowNs));
        double came = load.perSecond * (nowNs - on.lastNs) * 1e-9;
        on.lastNs = nowNs;
        on.arrived += came;
        on.waiting = Math.min(Math.max(1, load.perSecond), on.waiting + came);
        while (on.waiting >= 1 && on.gate.admit(1, System::nanoTime)) {
            on.waiting--;
        }
        int arrived = (int) on.arrived;
        if (arrived > 0) {
            on.arrived -= arrived;
            gates.arrived(on.gate, arrived, (long) on.waiting, nowNs);
        }
    }

    @Override
    public void close() {
        stopped = true;
        wakeUp();
    }
}
