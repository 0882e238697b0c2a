package io.weir.supervisor.cli.topic;

import io.weir.config.value.TopicName;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.node.BrokerClient;

/** What the commands that change a topic have in common. */
final class TopicChange {
    /**
     * The version of the limit that a change made.
     *
     * @param superseded whether a later change took its place, so that the version is that one's
     */
    record Accepted(String name, long version, boolean pending, boolean superseded) {}

    private TopicChange() {}

    static Accepted accepted(BrokerClient.Answer answer) {
        return answer.as(Accepted.class);
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
