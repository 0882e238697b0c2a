package io.weir.supervisor.cli.client;

import io.weir.config.Endpoint;
import java.io.IOException;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import picocli.CommandLine.Mixin;

/** How a client command gets into a broker: its secret and whom it trusts, as a picocli mixin. */
final class ClientAccess {
    @Mixin
    private ClientSecret secret;

    @Mixin
    private ClientTls tls;

    private Optional<String> shown;
    private Optional<SSLContext> context;

    /** Reads the files that the user named; a mistake in them is reported before anything is tried. */
    void read() {
        shown = secret.read();
        context = tls.context();
    }

    /** Only after {@link #read}. */
    NsqConnection open(Endpoint endpoint) throws IOException {
        return NsqConnection.open(endpoint, shown, context);
    }
}
