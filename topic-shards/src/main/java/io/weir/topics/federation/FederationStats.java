package io.weir.topics.federation;

/**
 * What has passed between this broker and all others since it started.
 *
 * @param peers brokers that are linked now
 * @param forwarded publications that were sent to their home
 * @param forwardsLost of these, those whose link broke before the outcome came: they were published or not
 * @param publishedForPeers publications that other brokers sent here
 * @param deliveredToPeers messages sent to the broker that holds the consumer
 * @param receivedFromPeers messages of other brokers for consumers here
 * @param givenBack messages of other brokers that were not finished here and went back to them
 * @param droppedWithLink messages of other brokers that were here when the link broke: the other broker delivers them
 *     again
 * @param malformed frames that could not be read, or came against the rules
 * @param loanFrames frames that asked other brokers for tokens, or lent them some
 * @param borrowedMicros micro-tokens that other brokers lent
 */
public record FederationStats(
        int peers,
        long forwarded,
        long forwardsLost,
        long publishedForPeers,
        long deliveredToPeers,
        long receivedFromPeers,
        long givenBack,
        long droppedWithLink,
        long malformed,
        long loanFrames,
        long borrowedMicros) {}
