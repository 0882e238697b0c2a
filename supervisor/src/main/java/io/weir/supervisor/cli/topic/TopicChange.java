package io.weir.supervisor.cli.topic;

import io.weir.config.value.TopicName;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.node.TopicDescription;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** What the commands that change a topic have in common. */
final class TopicChange {
    /**
     * The version of the limit that a change made.
     *
     * @param superseded whether a later change took its place, so that the version is that one's
     */
    record Accepted(String name, long version, boolean pending, boolean superseded) {}

    private static final Duration POLL = Duration.ofMillis(200);

    private TopicChange() {}

    static Accepted accepted(BrokerClient.Answer answer) {
        return answer.as(Accepted.class);
    }

    /** Whether the limit of this version, or a later one, is complete before so many seconds have passed. */
    static boolean awaitDone(ClusterOption cluster, String path, long version, long withinSeconds)
            throws InterruptedException {
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(withinSeconds);
        while (true) {
            TopicDescription now = cluster.ask("GET", path, Optional.empty()).as(TopicDescription.class);
            if (now.version() > version || now.version() == version && now.done()) {
                return true;
            }
            if (System.nanoTime() - deadlineNs > 0) {
                return false;
            }
            TimeUnit.MILLISECONDS.sleep(POLL.toMillis());
        }
    }

    static String path(String name) {
        try {
            // An ephemeral topic's name has a '#'.
            return "/v1/topics/" + TopicName.of(name).value().replace("#", "%23");
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e.getMessage());
        }
    }
}
