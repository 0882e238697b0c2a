package io.weir.limiter.algorithm;

/**
 * What a broker asks of a topic's limit, as SRTM 5.4 measures it.
 *
 * @param rateMicros the average rate of what arrived, admitted or not, in micro-tokens a second
 * @param backlogMicros the largest backlog in micro-tokens, see {@link DemandWindow}
 */
public record Demand(long rateMicros, long backlogMicros) {
    public Demand {
        if (rateMicros < 0 || backlogMicros < 0) {
            throw new IllegalArgumentException("demand (" + rateMicros + ", " + backlogMicros + ") is below 0");
        }
    }
}
