package io.weir.cluster.chaos.client;

import io.weir.cluster.chaos.client.ClientPlan.Publishing;
import io.weir.cluster.history.HistoryWriter.Outcome;
import io.weir.config.Endpoint;
import io.weir.supervisor.cli.client.NsqConnection;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * Records of each message that it was sent and what became of it: acknowledged (ok), certainly not published (fail), or
 * unknown (info), as when the connection broke before the answer. It publishes at the broker that it is given; Weir's
 * own client would go to the topic's home.
 */
public final class RecordingPublisher extends PacedPublisher {
    private final Publishing plan;
    private final ClientRecord record;

    public RecordingPublisher(Publishing plan, ClientRecord record) {
        super("publisher-" + plan.broker() + "-" + plan.topic(), Endpoint.parse(plan.endpoint()));
        this.plan = plan;
        this.record = record;
    }

    String topic() {
        return plan.topic();
    }

    /** From now on so many times the plan's rate; 0: nothing. */
    public void press(double times) {
        pace(times * plan.perSecond() / plan.connections());
    }

    @Override
    protected void publish(NsqConnection connection) throws IOException {
        long op = record.next();
        record.publish(Outcome.invoke, op, plan.topic(), plan.broker(), null);
        String answer;
        try {
            answer = connection.publishAndWait(plan.topic(), record.id(op).getBytes(StandardCharsets.US_ASCII));
        } catch (IOException e) {
            record.publish(Outcome.info, op, plan.topic(), plan.broker(), String.valueOf(e.getMessage()));
            throw e;
        }
        if (answer.equals("OK")) {
            record.publish(Outcome.ok, op, plan.topic(), plan.broker(), null);
        } else if (answer.endsWith("is not known")) {
            // The message was on its way to its home; the protocol has no word of its own for that.
            record.publish(Outcome.info, op, plan.topic(), plan.broker(), answer);
        } else if (answer.startsWith("E_PUB_FAILED") || answer.startsWith("E_BAD_TOPIC")) {
            record.publish(Outcome.fail, op, plan.topic(), plan.broker(), answer);
        } else {
            record.publish(Outcome.info, op, plan.topic(), plan.broker(), answer);
            throw new IOException(answer);
        }
    }
}
