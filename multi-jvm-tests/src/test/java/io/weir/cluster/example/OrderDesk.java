package io.weir.cluster.example;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.weir.transport.client.AutoTunedPublisher;
import io.weir.transport.client.ClientSettings;
import io.weir.transport.client.Outcome;
import io.weir.transport.client.WeirClient;
import java.util.Collection;

/** Publishes orders, and collects what comes out at the other end. */
public final class OrderDesk {
    private OrderDesk() {}

    /** Publishes {@code orders}. What is consumed goes into {@code audited}, what was refused into {@code rejected}. */
    public static void run(
            Collection<String> audited, Collection<String> rejected, Iterable<String> orders, String... brokers) {
        try (WeirClient client = WeirClient.create(ClientSettings.of(brokers))) {
            // Finished when the handler returns, requeued when it throws.
            client.consume("orders", "audit", delivery -> audited.add(new String(delivery.body(), UTF_8)));
            AutoTunedPublisher publisher = client.publisher();
            for (String order : orders) {
                publisher.publish("orders", order.getBytes(UTF_8)).thenAccept(outcome -> {
                    if (outcome instanceof Outcome.Refused refused) {
                        rejected.add(order + ": over the topic's limit, again in " + refused.retryAfter());
                    } else if (!outcome.accepted()) {
                        rejected.add(order + ": " + outcome);
                    }
                });
            }
        } // waits for the outcomes of what was published
    }
}
