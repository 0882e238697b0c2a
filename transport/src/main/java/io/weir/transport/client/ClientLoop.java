package io.weir.transport.client;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The client's one thread for input and output. A turn: what others asked for, then sockets, then every worker; so
 * received messages and acknowledgements always come before further transfers.
 */
final class ClientLoop implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(ClientLoop.class);
    private static final long HOUSEKEEPING_NS = TimeUnit.MILLISECONDS.toNanos(50);
    /** A selector counts in milliseconds; what is nearer is waited for in naps of this length, or by looking again. */
    private static final long NAP_NS = TimeUnit.MICROSECONDS.toNanos(50);

    private static final long SELECT_NS = TimeUnit.MILLISECONDS.toNanos(2);
    static final long NEVER_NS = TimeUnit.DAYS.toNanos(1);

    /** A publisher or a consumer. */
    interface Worker {
        /** Takes in what other threads have left for it; whether there was any. */
        boolean receive(long nowNs);

        /** Does what is due; answers in how many nanoseconds it wants to be called again at the latest. */
        long work(long nowNs);

        void keepHouse(long nowNs);

        /** Whether {@link #receive} would find something. Any thread may ask. */
        boolean hasMore();

        /** The client ends. */
        void end(long nowNs);
    }

    private final Selector selector;
    private final Thread thread;
    private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final List<Worker> workers = new ArrayList<>();
    private final List<BrokerConnection> connections = new ArrayList<>();
    private volatile boolean asleep;
    private volatile boolean running = true;
    private volatile boolean ended;
    private long housekeepingNs;

    ClientLoop(String name) {
        try {
            selector = Selector.open();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        thread = new Thread(this, name);
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    boolean isCurrentThread() {
        return Thread.currentThread() == thread;
    }

    Selector selector() {
        return selector;
    }

    /**
     * Runs it on the loop; not for messages, each of which has a bounded way of its own. False once the loop has ended.
     */
    boolean execute(Runnable task) {
        if (!running) {
            return false;
        }
        tasks.add(task);
        wake();
        // The loop runs what it finds when it ends; what comes later is taken back here.
        return !ended || !tasks.remove(task);
    }

    /** After something was left for a worker. */
    void wake() {
        if (asleep) {
            asleep = false;
            selector.wakeup();
        }
    }

    /** On the loop. */
    void add(Worker worker) {
        workers.add(worker);
    }

    /** On the loop. */
    void remove(Worker worker) {
        workers.remove(worker);
    }

    /** On the loop. */
    BrokerConnection connect(Dialer dialer, InetSocketAddress address, long nowNs) throws IOException {
        BrokerConnection connection = dialer.connection(address, selector, nowNs);
        connections.add(connection);
        return connection;
    }

    @Override
    public void run() {
        housekeepingNs = System.nanoTime() + HOUSEKEEPING_NS;
        try {
            while (running) {
                turn();
            }
        } catch (IOException | RuntimeException e) {
            LOG.error("Client's loop ended by a failure; its publishers and consumers end", e);
        } finally {
            running = false;
            end();
        }
    }

    private void turn() throws IOException {
        boolean worked = runTasks();
        long nowNs = System.nanoTime();
        for (int i = 0; i < workers.size(); i++) {
            worked |= workers.get(i).receive(nowNs);
        }
        selector.selectNow();
        worked |= sockets(nowNs);
        long waitNs = NEVER_NS;
        for (int i = 0; i < workers.size(); i++) {
            waitNs = Math.min(waitNs, workers.get(i).work(nowNs));
        }
        for (int i = 0; i < connections.size(); i++) {
            connections.get(i).flush(nowNs);
        }
        if (nowNs - housekeepingNs >= 0) {
            keepHouse(nowNs);
        } else if (!worked) {
            pause(waitNs, housekeepingNs - nowNs);
        }
    }

    private boolean runTasks() {
        Runnable task = tasks.poll();
        if (task == null) {
            return false;
        }
        while (task != null) {
            task.run();
            task = tasks.poll();
        }
        return true;
    }

    private boolean sockets(long nowNs) {
        if (selector.selectedKeys().isEmpty()) {
            return false;
        }
        for (SelectionKey key : selector.selectedKeys()) {
            if (key.isValid()) {
                ((BrokerConnection) key.attachment()).ready(nowNs);
            }
        }
        selector.selectedKeys().clear();
        return true;
    }

    private void keepHouse(long nowNs) {
        housekeepingNs = nowNs + HOUSEKEEPING_NS;
        for (int i = 0; i < connections.size(); i++) {
            connections.get(i).keepHouse(nowNs);
        }
        connections.removeIf(BrokerConnection::closed);
        for (int i = 0; i < workers.size(); i++) {
            workers.get(i).keepHouse(nowNs);
        }
    }

    private void pause(long waitNs, long longestNs) throws IOException {
        if (waitNs <= 0) {
            return;
        }
        if (waitNs < SELECT_NS) {
            if (waitNs > NAP_NS) {
                LockSupport.parkNanos(NAP_NS);
            } else {
                Thread.onSpinWait();
            }
            return;
        }
        asleep = true;
        if (nothingToDo()) {
            selector.select(Math.max(1, TimeUnit.NANOSECONDS.toMillis(Math.min(waitNs, longestNs))));
        }
        asleep = false;
    }

    /** Asked after {@link #asleep} is set: who leaves something later wakes the selector. */
    private boolean nothingToDo() {
        if (!tasks.isEmpty() || !running) {
            return false;
        }
        for (int i = 0; i < workers.size(); i++) {
            if (workers.get(i).hasMore()) {
                return false;
            }
        }
        return true;
    }

    private void end() {
        ended = true;
        // A worker that was not added yet has to be ended too.
        guarded(this::runTasks);
        long nowNs = System.nanoTime();
        for (Worker worker : List.copyOf(workers)) {
            guarded(() -> worker.end(nowNs));
        }
        for (BrokerConnection connection : connections) {
            connection.close("the client was closed", nowNs);
        }
        try {
            selector.close();
        } catch (IOException e) {
            LOG.debug("Selector was not closed", e);
        }
    }

    /** One that fails does not keep the others from their end. */
    private static void guarded(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException e) {
            LOG.error("Client's loop could not end a part of it", e);
        }
    }

    /** Waits for the end, unless the loop itself asks. */
    void close() {
        running = false;
        selector.wakeup();
        if (!isCurrentThread()) {
            try {
                thread.join(TimeUnit.SECONDS.toMillis(10));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
