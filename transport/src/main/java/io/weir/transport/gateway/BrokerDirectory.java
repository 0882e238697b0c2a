package io.weir.transport.gateway;

import io.weir.config.value.BrokerId;
import java.util.Optional;

/** Who this broker is, and where clients reach the others. Asked by the loop's thread: it must not wait. */
public interface BrokerDirectory {
    /** A broker on its own that has no name. */
    BrokerDirectory ALONE = new BrokerDirectory() {
        @Override
        public Optional<BrokerId> self() {
            return Optional.empty();
        }

        @Override
        public Optional<String> tcpOf(BrokerId broker) {
            return Optional.empty();
        }
    };

    Optional<BrokerId> self();

    /** The host:port at which clients reach that broker, this one too; empty while it is not known. */
    Optional<String> tcpOf(BrokerId broker);
}
