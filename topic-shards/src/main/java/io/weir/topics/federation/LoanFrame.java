package io.weir.topics.federation;

import io.weir.limiter.algorithm.Loan;
import io.weir.limiter.supply.gate.TopicGate;
import org.agrona.concurrent.UnsafeBuffer;

/** An ASK or LEND that fills up during a turn: all loans of it name the same life of who asked. */
final class LoanFrame {
    private static final int BYTES = 1_200;
    private static final int MOST = (BYTES - FederationFrames.HEADER_BYTES) / (FederationFrames.LOAN_BYTES + 1);

    private final byte type;
    private final UnsafeBuffer buffer = new UnsafeBuffer(new byte[BYTES]);
    private final TopicGate[] gates = new TopicGate[MOST];
    private long incarnation;
    private int count;
    private int length = FederationFrames.HEADER_BYTES;

    LoanFrame(byte type) {
        this.type = type;
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** False if it has no room for this loan, or names another life: then it has to be sent first. */
    boolean add(TopicGate gate, long asker, Loan loan) {
        String topic = gate.topic().value();
        boolean fits = length + FederationFrames.LOAN_BYTES + topic.length() <= BYTES && count < MOST;
        if (count > 0 && (!fits || asker != incarnation)) {
            return false;
        }
        incarnation = asker;
        gates[count++] = gate;
        length = FederationFrames.loan(buffer, length, gate.limitVersion(), loan, topic);
        return true;
    }

    /** Completes the frame. */
    UnsafeBuffer finish() {
        FederationFrames.loans(buffer, type, count, incarnation);
        return buffer;
    }

    int length() {
        return length;
    }

    /** It was not sent: nobody will answer what it asked. */
    void unasked(int slot, long nowNs) {
        for (int i = 0; i < count; i++) {
            gates[i].unasked(slot, nowNs);
        }
    }

    void clear() {
        for (int i = 0; i < count; i++) {
            gates[i] = null;
        }
        count = 0;
        length = FederationFrames.HEADER_BYTES;
    }
}
