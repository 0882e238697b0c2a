package io.weir.cluster;

import io.weir.config.Endpoint;
import io.weir.supervisor.store.StoreServer;
import java.io.IOException;

/** A PostgreSQL that somebody else runs, as far as a cluster can tell. */
final class OtherStore implements AutoCloseable {
    private static final String PASSWORD = "only-for-this-test";

    private final StoreServer server;
    private final String url;

    private OtherStore(StoreServer server, String url) {
        this.server = server;
        this.url = url;
    }

    /** @param name of its directory among what the build leaves */
    static OtherStore start(String name) throws IOException {
        int port = BrokerCluster.freePortBase(1);
        return new OtherStore(
                StoreServer.start(BuiltDistribution.emptyDirectory(name), port, PASSWORD),
                StoreServer.url(new Endpoint("127.0.0.1", port), PASSWORD));
    }

    /** With user and password. */
    String url() {
        return url;
    }

    @Override
    public void close() {
        server.close();
    }
}
