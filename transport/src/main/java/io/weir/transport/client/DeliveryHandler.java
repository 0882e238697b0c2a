package io.weir.transport.client;

/** What an application does with a message. Runs on one of the client's handler threads, several at a time. */
@FunctionalInterface
public interface DeliveryHandler {
    /**
     * To throw says that it failed: the message comes again, unless the handler has decided otherwise, and the consumer
     * backs off.
     */
    void handle(Delivery delivery) throws Exception;
}
