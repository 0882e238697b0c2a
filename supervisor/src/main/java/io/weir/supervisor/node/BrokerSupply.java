package io.weir.supervisor.node;

import akka.actor.typed.ActorRef;
import akka.actor.typed.ActorSystem;
import akka.actor.typed.Props;
import io.weir.config.WeirSettings;
import io.weir.limiter.algorithm.DemandWindow;
import io.weir.limiter.supply.actor.Failpoints;
import io.weir.limiter.supply.actor.LeaseKeeper;
import io.weir.limiter.supply.actor.SupplyCoordinator;
import io.weir.limiter.supply.actor.SupplyCounters;
import io.weir.limiter.supply.actor.SupplyStore;
import io.weir.limiter.supply.gate.AdmissionHistory;
import io.weir.limiter.supply.gate.Gates;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.value.Holder;
import io.weir.supervisor.store.StoreException;
import io.weir.supervisor.store.SupplyTables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A broker's supply for as long as its process lives: the gates, the lease that opens them, and the holder in whose
 * name they admit. Lives of the actor system come and go above it.
 *
 * <pre>
 *   no tenure ── a life begins: row registered ──► tenure of (broker, incarnation)
 *   tenure ── the actor system dies, the lease is kept ──► the next life goes on with the same holder and recovers its ledger
 *   tenure ── fenced, or leaving: lease closed ──► writer came by ──► row STOPPED ──► no tenure
 * </pre>
 */
public final class BrokerSupply implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BrokerSupply.class);
    private static final Path UPTIME = Path.of("/proc/uptime");
    private static final long BARRIER_MS = 2_000;

    private final WeirSettings settings;
    private final ActorSystem<Void> local;
    private final DataDirectory directory;
    private final SupplyTables leaseTables;
    private final SupplyTables tables;
    private final ExecutorService leaseThread = Executors.newSingleThreadExecutor(daemon("weir-lease"));
    private final ExecutorService storeThreads = Executors.newFixedThreadPool(2, daemon("weir-supply-store"));
    private final SupplyCounters counters = new SupplyCounters();
    private final Gates gates;
    private final Runnable fenced;
    private final Failpoints failpoints;
    private final LongSupplier clock;

    private volatile Holder holder;
    private volatile Lease lease = new Lease(1);
    private ActorRef<LeaseKeeper.Command> keeper;
    private boolean formerProcessStopped;

    /** @param fenced called by any thread when this tenure is over and a new life should begin */
    BrokerSupply(
            WeirSettings settings,
            ActorSystem<Void> local,
            DataDirectory directory,
            Runnable wakeWriter,
            Runnable fenced,
            Failpoints failpoints) {
        this.settings = settings;
        this.local = local;
        this.directory = directory;
        this.fenced = fenced;
        this.failpoints = failpoints;
        this.clock = failpoints.clock();
        Duration lengthOfLease = settings.supply().lease();
        // Below the time between two renewals, so that a store that hangs costs one renewal and not the lease.
        leaseTables = new SupplyTables(settings.store(), lengthOfLease.dividedBy(5));
        tables = new SupplyTables(settings.store(), settings.store().statementTimeout());
        holder = new Holder(settings.broker().id(), 0);
        lease.close();
        gates = new Gates(
                holder,
                lease,
                failpoints.driftPpm(settings.supply().driftPpm()),
                wakeWriter,
                settings.supply()
                        .history()
                        .map(path ->
                                new AdmissionHistory(path, settings.broker().id(), failpoints.trueTime()))
                        .orElse(null),
                new DemandWindow.Shape(
                        settings.supply().window().slot().toNanos(),
                        settings.supply().window().slots(),
                        settings.supply().window().longSlots()));
    }

    private static ThreadFactory daemon(String name) {
        return task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        };
    }

    public Gates gates() {
        return gates;
    }

    public SupplyCounters counters() {
        return counters;
    }

    Holder holder() {
        return holder;
    }

    /** Fenced, or left: the gates are closed, and only the next life opens them again. */
    boolean tenureOver() {
        return lease.closed();
    }

    SupplyStore store() {
        return tables;
    }

    public ExecutorService storeThreads() {
        return storeThreads;
    }

    public long leaseRemainingNs() {
        return lease.remainingNs(clock.getAsLong());
    }

    /**
     * What the next life's actors work with: the tenure that goes on, or a new one in the name of {@code incarnation}.
     */
    SupplyCoordinator.Dependencies begin(long incarnation) {
        if (lease.closed()) {
            confirmFormerStopped();
            beginTenure(incarnation);
        } else {
            LOG.info("{} goes on with what {} holds", settings.broker().id(), holder);
        }
        Holder me = holder;
        return new SupplyCoordinator.Dependencies(
                settings.supply(),
                me,
                gates,
                this::leaseRemainingNs,
                tables,
                storeThreads,
                counters,
                clock,
                new Random(),
                () -> closeAndTell(me),
                failpoints);
    }

    /** The lock proves that the previous process of this directory is dead: what it held may be inherited at once. */
    private void confirmFormerStopped() {
        if (!formerProcessStopped) {
            long former = directory.lastHolder();
            if (former > 0) {
                tables.stop(new Holder(settings.broker().id(), former));
            }
            formerProcessStopped = true;
        } else if (holder.incarnation() > 0) {
            await(gates.barrier());
            stop();
        }
    }

    private void stop() {
        failpoints.reached(Failpoints.Step.BEFORE_STOP);
        tables.stop(holder);
        failpoints.reached(Failpoints.Step.AFTER_STOP);
    }

    private void beginTenure(long incarnation) {
        Holder next = new Holder(settings.broker().id(), incarnation);
        long sentNs = clock.getAsLong();
        tables.register(next);
        failpoints.reached(Failpoints.Step.AFTER_REGISTER);
        directory.writeHolder(next.incarnation());
        Lease nextLease = failpoints.lease(settings.supply().lease().toNanos());
        nextLease.renewed(sentNs);
        await(gates.begin(next, nextLease));
        holder = next;
        lease = nextLease;
        keeper = local.systemActorOf(
                LeaseKeeper.create(
                        leaseTables,
                        leaseThread,
                        next,
                        nextLease,
                        settings.supply().lease(),
                        clock,
                        BrokerSupply::uptimeNs,
                        () -> closeAndTell(next),
                        failpoints),
                "lease-keeper-" + incarnation,
                Props.empty());
    }

    private void closeAndTell(Holder closed) {
        if (closed.equals(holder)) {
            lease.close();
            fenced.run();
        }
    }

    /** Closes the gates for good and stores that, so that the buddy can inherit everything. */
    void leave() {
        if (lease.closed()) {
            return;
        }
        lease.close();
        keeper.tell(new LeaseKeeper.Stop());
        try {
            await(gates.barrier());
            stop();
            // Nobody has to confirm anything of this tenure any more.
            directory.writeHolder(0);
        } catch (StoreException e) {
            LOG.warn(
                    "{} could not tell the store that it stopped ({}): its part waits until it starts again",
                    holder,
                    e.getMessage());
        }
    }

    private static void await(CompletionStage<?> stage) {
        try {
            stage.toCompletableFuture().get(BARRIER_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new StoreException("interrupted while waiting for the gates", e);
        } catch (ExecutionException | TimeoutException e) {
            throw new StoreException("the gates' thread does not answer", e);
        }
    }

    /** Since the system booted, suspended time included. */
    private static OptionalLong uptimeNs() {
        try {
            String seconds = Files.readString(UPTIME).split(" ", 2)[0];
            return OptionalLong.of((long) (Double.parseDouble(seconds) * 1e9));
        } catch (IOException | NumberFormatException e) {
            return OptionalLong.empty();
        }
    }

    @Override
    public void close() {
        leave();
        leaseThread.shutdownNow();
        storeThreads.shutdownNow();
        leaseTables.close();
        tables.close();
    }
}
