package io.weir.supervisor.lab.publisher.simulation;

import java.util.ArrayDeque;
import java.util.function.IntConsumer;
import java.util.random.RandomGenerator;

/**
 * The broker at the far end of one connection, and the subscriber that pulls from it (section V-A).
 *
 * <p>Flow control counts messages: the publisher may have as many on the way or queued as the broker's buffer holds; a
 * slot comes back half a round trip after its message was pulled. The connection keeps the order of what is sent. The
 * subscriber is a gated server with vacations: back from one, it pulls what is queued at that moment, one by one, and
 * what comes meanwhile waits for the next turn.
 */
final class Broker {
    private record Transfer(int message, Runnable acknowledged) {}

    private final PublisherModel model;
    private final SimulatedTime time;
    private final RandomGenerator link;
    private final RandomGenerator subscriber;
    private final IntConsumer delivered;
    private final ArrayDeque<Transfer> flowControlled = new ArrayDeque<>();
    private final ArrayDeque<Integer> queue = new ArrayDeque<>();

    private int credit;
    private long lastArrivalNs;
    private long lastAckNs;

    Broker(
            PublisherModel model,
            SimulatedTime time,
            RandomGenerator link,
            RandomGenerator subscriber,
            IntConsumer delivered) {
        this.model = model;
        this.time = time;
        this.link = link;
        this.subscriber = subscriber;
        this.delivered = delivered;
        credit = model.brokerBuffer();
        takeVacation();
    }

    void send(int message, Runnable acknowledged) {
        flowControlled.add(new Transfer(message, acknowledged));
        transmit();
    }

    private void transmit() {
        while (credit > 0 && !flowControlled.isEmpty()) {
            credit--;
            Transfer transfer = flowControlled.poll();
            long halfRttNs = model.rttNs(link) / 2;
            lastArrivalNs = Math.max(lastArrivalNs, time.nowNs() + halfRttNs);
            lastAckNs = Math.max(lastAckNs, lastArrivalNs + halfRttNs);
            time.at(lastArrivalNs, () -> queue.add(transfer.message));
            time.at(lastAckNs, transfer.acknowledged);
        }
    }

    private void takeVacation() {
        time.after((long) (subscriber.nextExponential() * model.vacationMeanNs()), () -> pull(queue.size()));
    }

    private void pull(int insideTheGate) {
        if (insideTheGate == 0) {
            takeVacation();
            return;
        }
        time.after((long) (subscriber.nextExponential() * model.pullMeanNs()), () -> {
            delivered.accept(queue.remove());
            time.after(model.rttNs(link) / 2, () -> {
                credit++;
                transmit();
            });
            pull(insideTheGate - 1);
        });
    }
}
