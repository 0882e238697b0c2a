package io.weir.topics.path;

import io.weir.config.value.TopicName;
import io.weir.topics.algorithm.DelayCounts;
import io.weir.transport.gateway.Duty;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * What the message path's thread has to come back to, and when: lines and channels that wait for tokens, and the
 * channels' next deadline. It also has the turn's time and the clock. Whoever waits adds itself.
 *
 * <p>Time-outs need no timer each. Every new deadline only lowers the time at which the channels are looked through; a
 * message that is acknowledged leaves it as it is. So consumers that acknowledge in time cost one look per time-out.
 */
final class Agenda {
    private static final long LOOK_AT_MOST_EVERY_NS = TimeUnit.MILLISECONDS.toNanos(1);

    private final LongSupplier clock;
    private final List<TokenLine> lines = new ArrayList<>();
    private final List<Channel> thirsty = new ArrayList<>();
    /** Those with delays that nobody has taken. */
    private final List<TokenLine> delayed = new ArrayList<>();

    private long nowNs;
    private long lookAgainNs = Duty.NO_DEADLINE;
    private long lookedNs;

    Agenda(LongSupplier clock) {
        this.clock = clock;
        nowNs = clock.getAsLong();
        lookedNs = nowNs;
    }

    /** The message path's clock, for a gate that reads it only if it has to. */
    LongSupplier clock() {
        return clock;
    }

    /** The time of this turn. */
    long nowNs() {
        return nowNs;
    }

    void beginTurn(long atNs) {
        nowNs = atNs;
    }

    /** The line is not empty any more; it leaves when it is. */
    void add(TokenLine line) {
        lines.add(line);
    }

    /** The channel has messages and a consumer for them, but no token. */
    void add(Channel channel) {
        thirsty.add(channel);
    }

    void remove(Channel channel) {
        thirsty.remove(channel);
    }

    /** The line has counted its first delay since {@link #takeDelays}. */
    void addDelayed(TokenLine line) {
        delayed.add(line);
    }

    /** The topic is gone. */
    void forget(TokenLine line) {
        lines.remove(line);
        delayed.remove(line);
    }

    /** What messages waited since the last call, of topics that had any. */
    Map<TopicName, DelayCounts.Window> takeDelays() {
        Map<TopicName, DelayCounts.Window> windows = new HashMap<>();
        delayed.forEach(line -> windows.put(line.topic(), line.takeDelays()));
        delayed.clear();
        return windows;
    }

    /**
     * The channels are to be looked through then. Not more often than every millisecond, because each time all topics
     * are asked.
     */
    void lookAgainAt(long deadlineNs) {
        long notBeforeNs = lookedNs + LOOK_AT_MOST_EVERY_NS;
        long atNs = deadlineNs - notBeforeNs < 0 ? notBeforeNs : deadlineNs;
        if (lookAgainNs == Duty.NO_DEADLINE || atNs - lookAgainNs < 0) {
            lookAgainNs = atNs;
        }
    }

    /** Whether the channels are to be looked through now; who still has a deadline then says so again. */
    boolean beginLook() {
        if (lookAgainNs == Duty.NO_DEADLINE || nowNs - lookAgainNs < 0) {
            return false;
        }
        lookedNs = nowNs;
        lookAgainNs = Duty.NO_DEADLINE;
        return true;
    }

    /**
     * Serves everybody for whom there may be tokens now; answers how many messages left their line.
     *
     * @param supplyChanged whether that is everybody; else those whose time to retry has come
     */
    int serve(boolean supplyChanged) {
        // Both backwards, so that one that is done can leave the list.
        for (int i = thirsty.size() - 1; i >= 0; i--) {
            Channel channel = thirsty.get(i);
            if (supplyChanged || channel.retryAtNs() - nowNs <= 0) {
                channel.quench(nowNs);
            }
        }
        int passed = 0;
        for (int i = lines.size() - 1; i >= 0; i--) {
            TokenLine line = lines.get(i);
            if (supplyChanged || line.retryAtNs() - nowNs <= 0) {
                passed += line.drain(nowNs);
            }
            if (line.waiting() == 0) {
                removeLine(i);
                line.leftAgenda();
            }
        }
        return passed;
    }

    private void removeLine(int index) {
        TokenLine last = lines.remove(lines.size() - 1);
        if (index < lines.size()) {
            lines.set(index, last);
        }
    }

    long nextDeadlineNs() {
        long earliestNs = lookAgainNs;
        for (int i = 0; i < lines.size(); i++) {
            earliestNs = earlier(earliestNs, lines.get(i).retryAtNs());
        }
        for (int i = 0; i < thirsty.size(); i++) {
            earliestNs = earlier(earliestNs, thirsty.get(i).retryAtNs());
        }
        return earliestNs;
    }

    private static long earlier(long earliestNs, long otherNs) {
        return earliestNs == Duty.NO_DEADLINE || otherNs - earliestNs < 0 ? otherNs : earliestNs;
    }
}
