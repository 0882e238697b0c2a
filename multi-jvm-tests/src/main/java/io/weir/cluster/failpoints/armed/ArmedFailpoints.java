package io.weir.cluster.failpoints.armed;

import io.weir.cluster.failpoints.BrokenRule;
import io.weir.cluster.failpoints.CrashPoint;
import io.weir.cluster.failpoints.LoanTrouble;
import io.weir.cluster.failpoints.Sabotage;
import io.weir.limiter.supply.actor.Failpoints;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.protocol.Bookkeeper;
import io.weir.limiter.supply.protocol.Ledger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Carries out a {@link Sabotage} in the broker that has this jar on its class path. */
public final class ArmedFailpoints implements Failpoints {
    private static final Logger LOG = LoggerFactory.getLogger(ArmedFailpoints.class);

    /** A crash point, and how often the process was there. */
    private static final class Armed {
        final CrashPoint point;
        final SplittableRandom random;
        long times;

        Armed(CrashPoint point) {
            this.point = point;
            random = new SplittableRandom(point.seed());
        }

        boolean fires() {
            times++;
            return point.nth() > 0 ? times == point.nth() : random.nextDouble() < point.probability();
        }
    }

    private final Sabotage sabotage;
    private final Runnable halt;
    private final SkewedClock clock;
    private final List<Armed> always;
    private volatile IntSupplier loanCopies = LoanTrouble.NONE.copies();
    private List<Armed> fromFile = List.of();
    private String fileText = "";

    /** For the service loader. */
    public ArmedFailpoints() {
        this(
                Sabotage.of(System.getenv()),
                () -> Runtime.getRuntime().halt(Sabotage.EXIT_CODE),
                new SkewedClock(Sabotage.of(System.getenv()).clockRate(), System::nanoTime));
        String loans = System.getenv(Sabotage.LOANS_FILE);
        if (loans != null && !loans.isBlank()) {
            FollowedFile.follow(Path.of(loans), "loan-trouble", this::loanTrouble);
        }
    }

    ArmedFailpoints(Sabotage sabotage, Runnable halt, SkewedClock clock) {
        this.sabotage = sabotage;
        this.halt = halt;
        this.clock = clock;
        always = sabotage.crashes().stream().map(Armed::new).toList();
    }

    @Override
    public void reached(Step step) {
        for (CrashPoint point : firing(step)) {
            LOG.error("Failpoint {}: this process ends here, where {}", point, step.when());
            if (point.delay().isZero()) {
                halt.run();
            } else {
                CompletableFuture.runAsync(
                        halt, CompletableFuture.delayedExecutor(point.delay().toMillis(), TimeUnit.MILLISECONDS));
            }
        }
    }

    private synchronized List<CrashPoint> firing(Step step) {
        sabotage.crashFile().ifPresent(this::readAgain);
        List<CrashPoint> firing = new ArrayList<>();
        for (List<Armed> all : List.of(always, fromFile)) {
            for (Armed armed : all) {
                if (armed.point.step() == step && armed.fires()) {
                    firing.add(armed.point);
                }
            }
        }
        return firing;
    }

    /** Another text counts and draws from the beginning. One that can't be read arms nothing. */
    private void readAgain(Path file) {
        String text = "";
        try {
            text = Files.readString(file);
            if (!text.equals(fileText)) {
                fromFile = CrashPoint.parseAll(text).stream().map(Armed::new).toList();
                LOG.warn("Failpoints armed by {}: {}", file, text.isBlank() ? "none" : text.strip());
            }
        } catch (NoSuchFileException e) {
            fromFile = List.of();
        } catch (IOException | IllegalArgumentException e) {
            LOG.error("Failpoints of {} can't be armed: {}", file, e.getMessage());
            fromFile = List.of();
        }
        fileText = text;
    }

    @Override
    public LongSupplier clock() {
        return clock;
    }

    @Override
    public LongUnaryOperator trueTime() {
        return clock::trueNs;
    }

    @Override
    public Lease lease(long lengthNs) {
        return sabotage.breaks(BrokenRule.NO_LEASE_CHECK) ? new IgnoredLease(lengthNs) : new Lease(lengthNs);
    }

    @Override
    public Bookkeeper bookkeeper(Ledger ledger) {
        return new BrokenBookkeeper(ledger, sabotage.broken());
    }

    @Override
    public long driftPpm(long configured) {
        return sabotage.breaks(BrokenRule.NO_DRIFT_DEFLATION) ? 0 : configured;
    }

    @Override
    public long patienceNs(long required) {
        return sabotage.breaks(BrokenRule.CLAIM_EARLY) ? required / 4 : required;
    }

    /** As the text of a {@link LoanTrouble} says, from the next frame on. One that can't be read is none. */
    void loanTrouble(String text) {
        LoanTrouble trouble = LoanTrouble.NONE;
        try {
            trouble = LoanTrouble.parse(text);
            LOG.warn("Frames of loans from now on: {}", trouble);
        } catch (IllegalArgumentException e) {
            LOG.error("Trouble with loans can't be made: {}", e.getMessage());
        }
        loanCopies = trouble.copies();
    }

    @Override
    public IntSupplier loanCopies() {
        return () -> loanCopies.getAsInt();
    }

    @Override
    public List<String> armed() {
        return sabotage.environment().entrySet().stream()
                .map(variable -> variable.getKey() + "=" + variable.getValue())
                .toList();
    }
}
