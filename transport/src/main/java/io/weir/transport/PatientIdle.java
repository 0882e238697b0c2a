package io.weir.transport;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.agrona.concurrent.IdleStrategy;

/**
 * How a polling thread waits where cores are few. Shortly after work it parks for the least time that the kernel gives, about 60 µs,
 * because more is likely to come; after a while without any it parks long, which costs almost nothing. Aeron's back-off doubles its
 * park instead, so that at a thousand messages a second nearly every message would meet a park as long as the gap before it.
 */
public final class PatientIdle implements IdleStrategy {
    private static final int SPINS = 20;
    private static final long SHORT_PARK_NS = 1_000;
    private static final long LONG_PARK_NS = TimeUnit.MILLISECONDS.toNanos(1);

    private final long attentiveNs;
    private int spins;
    private long idleSinceNs;

    /** Stays attentive for {@code attentiveNs} after work. */
    public PatientIdle(long attentiveNs) {
        this.attentiveNs = attentiveNs;
    }

    @Override
    public void idle(int workCount) {
        if (workCount > 0) {
            spins = 0;
        } else {
            idle();
        }
    }

    @Override
    public void idle() {
        if (spins < SPINS) {
            if (spins++ == 0) {
                idleSinceNs = System.nanoTime();
            }
            Thread.onSpinWait();
        } else if (System.nanoTime() - idleSinceNs < attentiveNs) {
            LockSupport.parkNanos(SHORT_PARK_NS);
        } else {
            LockSupport.parkNanos(LONG_PARK_NS);
        }
    }

    @Override
    public void reset() {
        spins = 0;
    }
}
