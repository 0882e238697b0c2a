package io.weir.supervisor.node.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class HostNamesTest {
    private final HostNames names = new HostNames(List.of("weir", "*.brokers.svc", "Host.Example"));

    @Test
    void shouldKnowAddressesAndItsOwnNames() {
        assertThat(List.of("10.0.0.1", "::1", "fe80::1", "localhost", "", "weir", "b1.brokers.svc", "host.example"))
                .allMatch(names::include);
        assertThat(List.of(
                        "evil.example", "weir.evil.example", "10.0.0.1.nip.example", "brokers.svc", "weir2", "a.weir"))
                .noneMatch(names::include);
    }
}
