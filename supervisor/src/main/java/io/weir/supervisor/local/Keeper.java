package io.weir.supervisor.local;

import io.weir.supervisor.local.LocalCluster.Progress;
import io.weir.supervisor.node.DataDirectory;
import io.weir.supervisor.node.StartException;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * The process that looks after a local cluster: it starts the others, so it is their parent and hears of each one's end
 * at once.
 *
 * <pre>
 * store or media driver ended ──► started again, after a wait that grows while it keeps ending
 * broker ended ──► its data directory's lock is free, which proves that its process is over
 *              ──► a living broker gets the notice, writes STOPPED and has all brokers look: nobody waits for its lease
 *              ──► started again only where {@code weir up --restart} said so, and not if it left in good order
 * </pre>
 *
 * <p>It holds nothing that is needed: when it is killed its children live on, and the next {@code weir up} starts
 * another one, which adopts them. Of an adopted broker's end its lock tells, also at once; the other adopted processes
 * are looked at every second.
 *
 * <p>One thread decides; the HTTP calls, which may wait for a store that is away, have threads of their own. A library
 * more would be most of its memory: it makes do with the JDK.
 */
public final class Keeper {
    private static final long LOCK_WITHIN_MS = 5_000;
    private static final long RECORD_AGAIN_MS = 1_000;
    private static final long FIRST_LOOK_MS = 2;
    private static final long LOOK_MS = 1_000;
    /** What a JVM ends with after SIGTERM, when it had the time to leave. */
    private static final int TERMINATED = 143;

    /**
     * What it reads from its standard input at its start. There are passwords in it, which so are written to no file.
     *
     * @param launches how to start each process of the cluster
     * @param start which of them to start now; those that run are adopted
     * @param adminToken what brokers want to be shown, or null
     */
    record Orders(ClusterState state, List<Launch> launches, List<String> start, String adminToken)
            implements Serializable {
        void writeTo(OutputStream out) throws IOException {
            try (ObjectOutputStream objects = new ObjectOutputStream(out)) {
                objects.writeObject(this);
            }
        }

        private static Orders readFrom(InputStream in) {
            try (ObjectInputStream objects = new ObjectInputStream(in)) {
                return (Orders) objects.readObject();
            } catch (IOException | ClassNotFoundException e) {
                throw new LocalClusterException("only 'weir up' can start a keeper: it passes on what to keep");
            }
        }
    }

    private final ClusterDirectory directory;
    private final Orders orders;
    private final Progress log;
    private final ScheduledExecutorService loop;
    private final StopNotice notice;
    private final Map<String, Backoff> backoffs = new HashMap<>();
    private final Map<String, Long> startedNs = new HashMap<>();

    private volatile ClusterState state;
    private boolean ending;

    private Keeper(ClusterDirectory directory, Orders orders, Progress log) {
        this.directory = directory;
        this.state = orders.state;
        this.orders = orders;
        this.log = log;
        this.notice = new StopNotice(() -> this.state, Optional.ofNullable(orders.adminToken), log);
        this.loop = Executors.newSingleThreadScheduledExecutor(task -> new Thread(task, "weir-keeper"));
    }

    /** Runs a keeper until its process is asked to end. */
    public static void run(ClusterDirectory directory, InputStream standardInput, Progress log) {
        Orders orders = Orders.readFrom(standardInput);
        // Held until the process ends.
        Closeable only = directory.lock(ClusterState.KEEPER, LOCK_WITHIN_MS);
        Keeper keeper = new Keeper(directory, orders, log);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> keeper.end(only)));
        keeper.loop.execute(keeper::begin);
    }

    private synchronized void begin() {
        state = state.with(LocalProcess.of(ClusterState.KEEPER, ProcessHandle.current()));
        record();
        for (String name : state.names()) {
            Optional<LocalProcess> running = state.process(name).filter(LocalProcess::isAlive);
            if (running.isPresent()) {
                adopt(running.get());
            } else if (orders.start.contains(name)) {
                start(name);
            }
        }
        log.say("keeps the cluster" + (state.restart() ? "; brokers that die are started again" : ""));
    }

    /** Whoever ends it waits until a process that it has just started is written down. */
    private synchronized void end(Closeable lock) {
        ending = true;
        try {
            lock.close();
        } catch (IOException e) {
            log.say("its lock can't be released: " + e.getMessage());
        }
    }

    private synchronized void start(String name) {
        if (ending) {
            return;
        }
        startedNs.put(name, System.nanoTime());
        try {
            if (name.equals(ClusterState.DRIVER)) {
                // A killed driver's files look alive for two seconds, and another would refuse them for as long.
                directory.deleteAeronDirectory();
            }
            Process process = launch(name).start();
            LocalProcess started = LocalProcess.of(name, process.toHandle());
            state = state.with(started);
            record();
            process.onExit().thenAcceptAsync(ended -> ended(started, ended.exitValue()), loop);
        } catch (LocalClusterException e) {
            log.say(e.getMessage());
            startLater(name, "could not be started");
        }
    }

    private Launch launch(String name) {
        return orders.launches.stream()
                .filter(launch -> launch.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("nobody said how to start " + name));
    }

    /** A full disk must not end the one who restarts what a full disk ended. */
    private void record() {
        try {
            directory.write(state);
        } catch (LocalClusterException e) {
            log.say("the cluster's state can't be written, next try in a second: " + e.getMessage());
            loop.schedule(this::recordAgain, RECORD_AGAIN_MS, TimeUnit.MILLISECONDS);
        }
    }

    private synchronized void recordAgain() {
        if (!ending) {
            record();
        }
    }

    private void adopt(LocalProcess process) {
        startedNs.put(process.name(), System.nanoTime());
        log.say(process.name() + " runs already (pid " + process.pid() + ")");
        if (state.isBroker(process.name())) {
            Thread waiting = new Thread(() -> awaitLock(process), "weir-lock-" + process.name());
            waiting.setDaemon(true);
            waiting.start();
        } else {
            awaitExit(process, LOOK_MS);
        }
    }

    /** Looks now and then: the system reports the end of a process only to its parent. */
    private void awaitExit(LocalProcess process, long lookAgainMs) {
        if (process.isAlive()) {
            loop.schedule(
                    () -> awaitExit(process, Math.min(LOOK_MS, 2 * lookAgainMs)), lookAgainMs, TimeUnit.MILLISECONDS);
        } else {
            ended(process, -1);
        }
    }

    /**
     * The system hands the lock on when no thread of the broker runs any more, an instant before its process is gone.
     */
    private void awaitLock(LocalProcess process) {
        try {
            DataDirectory.lockWhenFree(directory.brokerDirectory(process.name()))
                    .close();
        } catch (StartException e) {
            log.say(e.getMessage());
        }
        // If it stays alive, it was still on its way to its lock.
        loop.execute(() -> awaitExit(process, FIRST_LOOK_MS));
    }

    /** @param exitCode -1 for a process whose parent was another */
    private synchronized void ended(LocalProcess process, int exitCode) {
        String name = process.name();
        if (ending || !state.process(name).equals(Optional.of(process))) {
            return;
        }
        String how = exitCode < 0 ? "ended" : "ended with exit code " + exitCode;
        if (!state.isBroker(name)) {
            startLater(name, how);
            return;
        }
        Optional<Long> holder = formerHolder(name);
        log.say(name + " " + how
                + holder.map(held -> ": " + name + "#" + held + " is over").orElse(""));
        holder.ifPresent(held -> notice.give(name, held));
        boolean leftInGoodOrder = exitCode < 0 ? holder.isEmpty() : exitCode == 0 || exitCode == TERMINATED;
        if (state.restart() && !leftInGoodOrder) {
            startLater(name, how);
        }
    }

    /** In whose name the broker held supply, proven over by the lock of its directory; empty if it held none. */
    private Optional<Long> formerHolder(String broker) {
        try (DataDirectory former = DataDirectory.lock(directory.brokerDirectory(broker))) {
            return Optional.of(former.lastHolder()).filter(holder -> holder > 0);
        } catch (StartException e) {
            // Somebody has started it again, and it says itself that its former life is over.
            log.say(e.getMessage());
            return Optional.empty();
        }
    }

    private void startLater(String name, String how) {
        Backoff backoff = backoffs.computeIfAbsent(name, any -> new Backoff());
        long livedMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startedNs.get(name));
        long waitMs = backoff.afterEndMs(livedMs);
        log.say(String.format(
                "%s %s after %.1f s%s; it is started again in %.1f s (its log: %s)",
                name,
                how,
                livedMs / 1e3,
                backoff.inARow() > 1 ? ", " + backoff.inARow() + " times in a row" : "",
                waitMs / 1e3,
                directory.log(name)));
        loop.schedule(() -> start(name), waitMs, TimeUnit.MILLISECONDS);
    }
}
