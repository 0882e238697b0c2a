package io.weir.supervisor.node;

import io.weir.supervisor.node.NodeView.MemberView;
import java.util.List;

/**
 * A broker's answer to {@code GET /status}: itself, and the cluster as it sees it.
 *
 * @param mediaDriver active, absent, or none where no directory is set
 */
public record BrokerStatus(
        String id,
        String state,
        long incarnation,
        long pid,
        String tcp,
        String http,
        String address,
        long uptimeMillis,
        long heapUsedBytes,
        long heapMaxBytes,
        long rejoins,
        String mediaDriver,
        String leader,
        String singletonHost,
        List<MemberView> members,
        List<Known> known) {

    /** A broker that the store knows, whether it runs or not. */
    public record Known(String id, long incarnation, long pid, String tcp, String http, boolean running) {}
}
