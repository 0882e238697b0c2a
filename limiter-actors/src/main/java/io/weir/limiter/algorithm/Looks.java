package io.weir.limiter.algorithm;

/**
 * When to look at rows that change: one look at a time, and a row that becomes new during a look is looked for right
 * after it. It knows no time: the caller looks again after a pause of its own, also after a look that failed.
 *
 * <pre>
 *  quiet   ── due, or a row is new ──► looking
 *  looking ── a row is new ──────────► looking, once more at once
 *  looking ── ended, or failed ──────► quiet; answers whether to look again at once, or after the pause
 * </pre>
 */
public final class Looks {
    private boolean looking;
    private boolean onceMore;

    /** The pause is over; answers whether to look now. False while a look is under way. */
    public boolean due() {
        boolean now = !looking;
        looking = true;
        return now;
    }

    /** A row is new; answers whether to look now. */
    public boolean rowIsNew() {
        onceMore |= looking;
        return due();
    }

    /** The look ended, with an answer or without; answers whether the next one is due at once. */
    public boolean ended() {
        boolean atOnce = onceMore;
        looking = false;
        onceMore = false;
        return atOnce;
    }
}
