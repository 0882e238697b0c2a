package io.weir.supervisor.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.supervisor.node.BrokerTopics.Neighbours;
import io.weir.supervisor.store.BrokerRegistry.RegisteredBroker;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NeighboursTest {
    private static final BrokerId OTHER = new BrokerId("b2");

    private final Neighbours neighbours = new Neighbours(new BrokerId("b1"));

    @ParameterizedTest
    @CsvSource({
        "10.0.0.2:4150, 10.0.0.2:4150",
        "0.0.0.0:4150, 10.1.0.2:4150",
        "[::]:4150, 10.1.0.2:4150",
        "[fd00::2]:4150, [fd00::2]:4150"
    })
    void shouldSendClientsWhereABrokerIsReached(String listensOn, String expected) {
        neighbours.follow(List.of(registered(listensOn, true)));

        assertThat(neighbours.tcpOf(OTHER)).contains(expected);
    }

    @Test
    void shouldSendNobodyToABrokerThatDoesNotRun() {
        neighbours.follow(List.of(registered("10.0.0.2:4150", false)));

        assertThat(neighbours.tcpOf(OTHER)).isEmpty();
    }

    private static RegisteredBroker registered(String tcp, boolean running) {
        return new RegisteredBroker(OTHER, 1, tcp, "10.0.0.2:4151", "10.1.0.2:4152", "", 1, running);
    }
}
