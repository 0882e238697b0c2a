package io.weir.limiter.supply.actor;

import akka.actor.typed.ActorSystem;
import akka.actor.typed.Props;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Holder;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** All holders' journals: reads them and, for whoever has fenced the holder, closes them. */
public final class Journals {
    static final long TIMEOUT_MS = 5_000;

    private final ActorSystem<?> system;
    private final Failpoints failpoints;
    private final AtomicLong reads = new AtomicLong();

    public Journals(ActorSystem<?> system) {
        this(system, Failpoints.NONE);
    }

    Journals(ActorSystem<?> system, Failpoints failpoints) {
        this.system = system;
        this.failpoints = failpoints;
    }

    /**
     * Replays a journal; fails if the replay does not end in time.
     *
     * @param closer if the journal is open, {@code Fenced} is appended in this holder's name; empty to only read
     */
    public CompletionStage<Ledger> read(Holder of, Optional<Holder> closer) {
        CompletableFuture<Ledger> answer = new CompletableFuture<>();
        system.systemActorOf(
                LedgerReader.create(of, closer, answer::complete, failpoints),
                "weir-ledger-reader-" + reads.incrementAndGet(),
                Props.empty());
        return answer.orTimeout(TIMEOUT_MS, TimeUnit.MILLISECONDS);
    }
}
