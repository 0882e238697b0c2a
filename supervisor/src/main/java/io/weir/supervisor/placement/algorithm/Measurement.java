package io.weir.supervisor.placement.algorithm;

/**
 * What one broker saw of one topic in a window of time.
 *
 * @param revision the {@link Assignment#revision} that held all the while; of another one it says nothing and is
 *     ignored
 * @param fromNs when the window began
 * @param untilNs when it ended
 * @param batches how many times a publisher sent something
 * @param messages how many messages that were
 * @param tooSlow how many took longer than the objective
 * @param snug how many took longer than {@link Slo#snugNs}, the too slow ones included
 */
public record Measurement(
        long revision, long fromNs, long untilNs, long batches, long messages, long tooSlow, long snug) {
    public Measurement {
        if (!(0 <= tooSlow && tooSlow <= snug && snug <= messages && batches <= messages && fromNs <= untilNs)) {
            throw new IllegalArgumentException("a measurement of " + messages + " messages in " + batches
                    + " batches, " + snug + " of them snug and " + tooSlow + " too slow, from " + fromNs + " to "
                    + untilNs + " ns contradicts itself");
        }
    }
}
