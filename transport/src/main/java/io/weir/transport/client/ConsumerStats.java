package io.weir.transport.client;

/**
 * What a consumer has done.
 *
 * @param requeued with those that waited for a handler when their connection was lost or their time was over
 * @param tooLate acknowledgements that the broker did not take, because the message was somebody else's by then
 * @param inFlight deliveries that nobody has decided yet
 */
public record ConsumerStats(
        long received,
        long finished,
        long requeued,
        long handlerFailures,
        long tooLate,
        long connectionsLost,
        int connected,
        long inFlight,
        boolean backingOff) {}
