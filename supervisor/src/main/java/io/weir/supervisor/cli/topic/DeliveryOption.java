package io.weir.supervisor.cli.topic;

import io.weir.supervisor.node.TopicRequest;
import picocli.CommandLine.Option;

/** How a topic treats its messages, as a picocli mixin; what is not given is null. */
final class DeliveryOption {
    @Option(
            names = "--mode",
            paramLabel = "MODE",
            description =
                    "What a message does that finds no token: shape (waits), police (is refused, with when to try again) or "
                            + "shadow (passes and is counted). A new topic shapes.")
    private String mode;

    @Option(
            names = "--max-delay",
            paramLabel = "MS",
            description = "The longest that a message waits for its token; then it is refused (new topic: 30000).")
    private Long maxDelayMs;

    @Option(
            names = "--max-waiting",
            paramLabel = "N",
            description = "Messages that may wait for a token at one broker (new topic: 100000).")
    private Integer maxWaiting;

    @Option(
            names = "--max-queued",
            paramLabel = "N",
            description = "Messages that may wait for consumers in each channel at one broker (new topic: 1000000).")
    private Integer maxQueued;

    @Option(
            names = "--overflow",
            paramLabel = "RULE",
            description = "When a channel is full: hold-back (publishers wait) or drop-oldest (new topic: hold-back).")
    private String overflow;

    @Option(
            names = "--clock",
            paramLabel = "CLOCK",
            description =
                    "The time that the limit holds over: gate (when a message takes its token) or arrival (when it came, "
                            + "so that a busy broker delays nothing that conformed; new topic: gate).")
    private String clock;

    @Option(
            names = "--borrow",
            paramLabel = "WHEN",
            description =
                    "Whether brokers lend each other tokens, so that their parts of the bucket act as one: on, off, or "
                            + "auto (off for a static topic, else on; new topic: auto).")
    private String borrow;

    TopicRequest with(Double rate, Double burst, String adapt, Double floor, String indicator) {
        return new TopicRequest(
                rate, burst, adapt, floor, mode, maxDelayMs, maxWaiting, maxQueued, overflow, clock, borrow, indicator);
    }

    boolean given() {
        return mode != null
                || maxDelayMs != null
                || maxWaiting != null
                || maxQueued != null
                || overflow != null
                || clock != null
                || borrow != null;
    }
}
