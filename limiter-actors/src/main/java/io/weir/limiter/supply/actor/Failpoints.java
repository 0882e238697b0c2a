package io.weir.limiter.supply.actor;

import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.protocol.Bookkeeper;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.SupplyEvent;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;

/**
 * Where a chaos test reaches into the supply protocol of one broker: it may end the process at a step, let its clock
 * run wrong, or leave out a rule for a checker to notice. A broker has {@link #NONE} unless somebody adds a jar to its
 * class path that is not part of the release.
 *
 * <p>The message path gets its clock, lease, ε and {@link #loanCopies} once, when it is made; all steps belong to the
 * control path.
 */
public interface Failpoints {
    /**
     * A step of the protocol at which the process may end. "Before" a step that gives supply away, it has left the
     * gate.
     */
    enum Step {
        BEFORE_MINT("the version is claimed, Minted is not stored"),
        AFTER_MINT("Minted is stored; the gate has nothing of it, the version is not done"),
        BEFORE_DEBIT("the gate has removed what goes, Debited is not stored"),
        AFTER_DEBIT("Debited is stored, nothing is sent"),
        BEFORE_CREDIT("the transfer has arrived, Credited is not stored"),
        AFTER_CREDIT("Credited is stored, neither used nor acknowledged"),
        BEFORE_ACKNOWLEDGE("the credit is at the gate, the sender does not know"),
        BEFORE_REFUND("the destination's journal is closed without the credit, Refunded is not stored"),
        AFTER_REFUND("Refunded is stored, the gate has nothing of it"),
        BEFORE_DELIVERY("an adopted transfer arrived, Delivered is not stored"),
        AFTER_DELIVERY("Delivered is stored"),
        BEFORE_BURN("the gate has removed what burns, Burned is not stored"),
        AFTER_BURN("Burned is stored, the version is not done"),
        BEFORE_REFLOOR("the gate has removed what is split anew, Refloored is not stored"),
        AFTER_REFLOOR("Refloored is stored, the gate has nothing of it"),
        BEFORE_RECOVER("the own journal is replayed, Recovered is not stored"),
        AFTER_RECOVER("Recovered is stored, the gates are not reset"),
        AFTER_FENCE("the victim's row is FENCED, its journal is open"),
        BEFORE_CLOSE("the victim's journal is replayed, Fenced is not appended to it"),
        AFTER_CLOSE("Fenced is in the victim's journal, nobody has claimed it"),
        AFTER_CLAIM("this broker is the beneficiary, Inherited is not stored"),
        BEFORE_INHERIT("the victim's part is read, Inherited is about to be stored"),
        AFTER_INHERIT("Inherited is stored; the gate has nothing of it, the row is not done"),
        AFTER_DONE("the row says that the account is inherited"),
        AFTER_MINT_CLAIM("the sweeper claimed a version whose minter is gone, and has not looked at it again"),
        AFTER_REGISTER("the lease's row is LIVE, the data directory does not name its holder"),
        AFTER_RENEWAL("the renewal is stored, its answer is not used"),
        BEFORE_STOP("the gates are closed for good, the row is not STOPPED"),
        AFTER_STOP("the row is STOPPED, the process goes on");

        private static final Map<Class<? extends SupplyEvent>, Step[]> AROUND = Map.of(
                SupplyEvent.Minted.class, new Step[] {BEFORE_MINT, AFTER_MINT},
                SupplyEvent.Debited.class, new Step[] {BEFORE_DEBIT, AFTER_DEBIT},
                SupplyEvent.Credited.class, new Step[] {BEFORE_CREDIT, AFTER_CREDIT},
                SupplyEvent.Refunded.class, new Step[] {BEFORE_REFUND, AFTER_REFUND},
                SupplyEvent.Delivered.class, new Step[] {BEFORE_DELIVERY, AFTER_DELIVERY},
                SupplyEvent.Inherited.class, new Step[] {BEFORE_INHERIT, AFTER_INHERIT},
                SupplyEvent.Burned.class, new Step[] {BEFORE_BURN, AFTER_BURN},
                SupplyEvent.Refloored.class, new Step[] {BEFORE_REFLOOR, AFTER_REFLOOR},
                SupplyEvent.Recovered.class, new Step[] {BEFORE_RECOVER, AFTER_RECOVER},
                SupplyEvent.Fenced.class, new Step[] {BEFORE_CLOSE, AFTER_CLOSE});

        private final String when;

        Step(String when) {
            this.when = when;
        }

        /** What holds at this step. */
        public String when() {
            return when;
        }

        /** As a person writes it: {@code after-debit}. */
        public String key() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }

        static Step before(SupplyEvent event) {
            return AROUND.get(event.getClass())[0];
        }

        static Step after(SupplyEvent event) {
            return AROUND.get(event.getClass())[1];
        }
    }

    /** A normal broker's. */
    Failpoints NONE = new Failpoints() {};

    /** Called by any thread when the protocol is at this step. It may never return. */
    default void reached(Step step) {}

    /** The clock of this broker's gates, lease and lease watch. */
    default LongSupplier clock() {
        return System::nanoTime;
    }

    /** From a time of {@link #clock} to {@code System.nanoTime}, in which an admission history is written. */
    default LongUnaryOperator trueTime() {
        return LongUnaryOperator.identity();
    }

    default Lease lease(long lengthNs) {
        return new Lease(lengthNs);
    }

    default Bookkeeper bookkeeper(Ledger ledger) {
        return new Bookkeeper(ledger);
    }

    /** ε by which the gates deflate their rates, in millionths. */
    default long driftPpm(long configured) {
        return configured;
    }

    /** W, after which a watcher fences. */
    default long patienceNs(long required) {
        return required;
    }

    /** How often each frame of loans goes to its peer: 0 if it is lost, 2 if it is repeated. */
    default IntSupplier loanCopies() {
        return () -> 1;
    }

    /** What is armed, for the log. */
    default List<String> armed() {
        return List.of();
    }
}
