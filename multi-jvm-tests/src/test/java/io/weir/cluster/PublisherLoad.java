package io.weir.cluster;

/** Publishers at a broker, as many as a test needs to fill a limit. */
@FunctionalInterface
interface PublisherLoad {
    /** From now on so many messages a second come for a topic at a broker; 0 ends it. */
    void press(String broker, String topic, double perSecond);
}
