package io.weir.topics.path;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.TokenBucket;
import io.weir.limiter.supply.gate.TopicGate;
import io.weir.topics.algorithm.DelayCounts;
import io.weir.topics.algorithm.DelayTotals;
import io.weir.topics.algorithm.MessageStore;
import io.weir.topics.definition.BucketClock;
import io.weir.topics.definition.LimitMode;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicSettings;
import io.weir.topics.path.Publication.Outcome;
import io.weir.transport.gateway.Duty;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Publisher;
import java.util.concurrent.TimeUnit;

/**
 * Where a topic's messages take their tokens. A message that finds a token, and room in the channels, goes straight on
 * to its {@link TopicShard}; else it waits in one line, and nobody overtakes. Each message takes its token once, when
 * it comes in: a redelivery costs none.
 *
 * <p>A batch that the bucket holds at once passes at once; a larger one passes message by message as tokens come, and
 * has its outcome when the last has passed. A batch that has begun to pass is not given up, however long it takes,
 * because its publisher would publish all of it again. A batch that could not pass within the longest delay even if all
 * of the topic's limit were here is refused as it comes. A topic that polices takes a batch as a whole or not at all.
 *
 * <p>The longest delay counts from a message's arrival at the cluster, not from when it joins the line: a client that
 * sends many at once has all of them answered by then, though only one of them waits here at a time.
 *
 * <p>As long as the topic's definition has not reached this broker, what is published waits in the same line. That wait
 * counts from when it joins.
 */
final class TokenLine {
    /** How often it looks: a lease may be renewed, and supply may come, without notice to this thread. */
    static final long RETRY_NS = TimeUnit.MILLISECONDS.toNanos(10);
    /** So many leave the line in one turn of the thread, so that no other topic stands still for it. */
    private static final int AT_ONCE = 4096;

    private final TopicShard shard;
    private final TopicGate gate;
    private final Agenda agenda;
    private final MessageStore store;
    private final Publications publications;
    private final long definitionWaitNs;
    private final WaitingLine line = new FifoLine();
    private final DelayCounts delays = new DelayCounts();

    /** Null before the definition is there. */
    private TopicSettings settings;
    /** {@link TopicDefinition#mostAtOnce}. */
    private double mostAtOnce;

    private int waiting;
    /** Of the message store. */
    private long waitingBytes;

    private long retryAtNs;
    /** Whether it is on the agenda. */
    private boolean listed;

    /** @param definitionWaitNs how long a publication waits for the topic's definition */
    TokenLine(
            TopicShard shard,
            TopicGate gate,
            Agenda agenda,
            MessageStore store,
            Publications publications,
            long definitionWaitNs) {
        this.shard = shard;
        this.gate = gate;
        this.agenda = agenda;
        this.store = store;
        this.publications = publications;
        this.definitionWaitNs = definitionWaitNs;
    }

    TopicName topic() {
        return shard.name();
    }

    TopicGate gate() {
        return gate;
    }

    void apply(TopicSettings newSettings, double newMostAtOnce) {
        settings = newSettings;
        mostAtOnce = newMostAtOnce;
    }

    /**
     * One stored message.
     *
     * @param next whether it follows right after another of its publisher's in this turn
     * @param arrivalNs when it came to the cluster's first broker; not after {@code nowNs}
     */
    void publish(Publisher publisher, long ticket, int message, boolean next, long arrivalNs, long nowNs) {
        if (settings != null && waiting == 0 && shard.hasRoom(1)) {
            if (passes(1, next, arrivalNs)) {
                countArrived(1, nowNs);
                countDelay(1, arrivalNs, false);
                shard.route(message, nowNs);
                publisher.accepted(ticket);
                return;
            }
            if (settings.mode() == LimitMode.POLICE) {
                countArrived(1, nowNs);
                store.release(message);
                gate.countRefused(1);
                publisher.throttled(ticket, retryAfterNs(1));
                return;
            }
        }
        Publication publication = publications.begin(publisher, ticket, arrivalNs, 1);
        publication.add(message);
        await(publication, nowNs);
    }

    /** Several stored messages. The publication belongs to this line from now on. */
    void publish(Publication publication, boolean next, long nowNs) {
        int count = publication.count;
        if (settings != null && waiting == 0 && shard.hasRoom(count)) {
            if (passes(count, next, publication.arrivalNs)) {
                countArrived(count, nowNs);
                countDelay(count, publication.arrivalNs, false);
                while (publication.left() > 0) {
                    shard.route(publication.messages[publication.next++], nowNs);
                }
                publications.end(publication, Outcome.ACCEPTED, 0, null);
                return;
            }
            if (settings.mode() == LimitMode.POLICE) {
                countArrived(count, nowNs);
                throttle(publication);
                return;
            }
        }
        await(publication, nowNs);
    }

    private void await(Publication publication, long nowNs) {
        int count = publication.count;
        if (settings == null) {
            publication.sinceNs = nowNs;
        } else if (!mayWait(publication, nowNs)) {
            gate.arrived(count, waitingForTokens(), nowNs);
            refuseToWait(publication);
            return;
        }
        int most = shard.settings().maxWaiting();
        // A batch larger than the bound may still come when nothing else waits.
        if (waiting > 0 && waiting + count > most || most == 0) {
            gate.arrived(count, waitingForTokens(), nowNs);
            refuse(publication, Outcome.HELD_UP, "more than " + most + " messages wait for the topic's limit");
            return;
        }
        line.add(publication);
        waiting += count;
        waitingBytes += bytesLeft(publication);
        gate.arrived(count, waitingForTokens(), nowNs);
        gate.countDelayed(count);
        if (!listed) {
            listed = true;
            retryAtNs = nowNs;
            agenda.add(this);
        }
    }

    private boolean mayWait(Publication publication, long nowNs) {
        return passesInTime(publication)
                && publication.sinceNs - (nowNs - settings.maxDelayNs()) > 0
                && (settings.mode() != LimitMode.POLICE || shard.hasMemory(publication.count));
    }

    private void refuseToWait(Publication publication) {
        if (!passesInTime(publication)) {
            refuseAsTooLarge(publication);
        } else if (settings.mode() == LimitMode.POLICE && !shard.hasMemory(publication.count)) {
            refuse(publication, Outcome.HELD_UP, shard.outOfMemory(null, 0, publication.count));
        } else {
            refuseAsTooLate(publication);
        }
    }

    private long bytesLeft(Publication publication) {
        long bytes = 0;
        for (int i = publication.next; i < publication.count; i++) {
            bytes += store.blockBytes(publication.messages[i]);
        }
        return bytes;
    }

    /** Lets pass what can, in the line's order; answers how many messages. */
    int drain(long nowNs) {
        int passed = 0;
        expire(nowNs);
        if (settings == null) {
            retryAtNs = nowNs + RETRY_NS;
        } else {
            retryAtNs = nowNs;
            gate.endRun();
            Publication publication = line.peek();
            while (publication != null && passed < AT_ONCE && passNext(publication, nowNs)) {
                passed++;
                publication = line.peek();
            }
        }
        gate.waiting(waitingForTokens(), nowNs);
        return passed;
    }

    /**
     * One message of the line's first publication. False if it has to wait on; {@link #retryAtNs} then says until when.
     */
    private boolean passNext(Publication publication, long nowNs) {
        boolean whole = settings.mode() == LimitMode.POLICE && publication.next == 0;
        int tokens = whole ? publication.left() : 1;
        if (!shard.hasRoom(tokens)) {
            retryAtNs = nowNs + RETRY_NS;
            return false;
        }
        if (publication.next == 0 && !passesInTime(publication)) {
            // It came before the definition did.
            leave(publication);
            refuseAsTooLarge(publication);
            return true;
        }
        // The bucket counts what waited at the end of its wait: the turn's time, the same for all that goes on in it.
        if (!passes(tokens, true, nowNs)) {
            if (whole) {
                leave(publication);
                throttle(publication);
                return true;
            }
            retryAtNs = gate.stampNs() + Math.min(RETRY_NS, retryAfterNs(1));
            return false;
        }
        countDelay(tokens, publication.arrivalNs, true);
        for (int i = 0; i < tokens; i++) {
            waiting--;
            waitingBytes -= store.blockBytes(publication.messages[publication.next]);
            shard.route(publication.messages[publication.next++], nowNs);
        }
        if (publication.left() == 0) {
            leave(publication);
            publications.end(publication, Outcome.ACCEPTED, 0, null);
        }
        return true;
    }

    /** The line's first publication, with what is left of it. */
    private void leave(Publication first) {
        line.remove();
        left(first);
    }

    private void left(Publication publication) {
        waiting -= publication.left();
        waitingBytes -= bytesLeft(publication);
    }

    private boolean passesInTime(Publication publication) {
        return publication.count == 1 || settings.mode() != LimitMode.SHAPE || publication.count <= mostAtOnce;
    }

    private void expire(long nowNs) {
        long longestNs = settings == null ? definitionWaitNs : settings.maxDelayNs();
        Publication expired = line.expired(nowNs - longestNs);
        while (expired != null) {
            left(expired);
            if (settings == null) {
                refuse(expired, Outcome.UNKNOWN_TOPIC, "the topic is not known here");
            } else {
                refuseAsTooLate(expired);
            }
            expired = line.expired(nowNs - longestNs);
        }
    }

    private void refuseAsTooLate(Publication publication) {
        String waited =
                "it waited longer than the topic's " + TimeUnit.NANOSECONDS.toMillis(settings.maxDelayNs()) + " ms";
        refuse(
                publication,
                Outcome.HELD_UP,
                shard.hasMemory(1) ? waited : waited + ": " + shard.outOfMemory(null, 0, publication.left()));
    }

    /** A publication that there is no memory for, not even to wait. */
    void refuseToStore(PublishRequest request, int messages, String reason, long nowNs) {
        gate.arrived(messages, waitingForTokens(), nowNs);
        gate.countRefused(messages);
        request.publisher().heldUpTooLong(request.ticket(), reason);
    }

    private boolean passes(int tokens, boolean next, long arrivalNs) {
        boolean passes;
        if (settings.clock() == BucketClock.ARRIVAL) {
            passes = gate.admitAt(tokens, arrivalNs, agenda.clock());
        } else {
            passes = next ? gate.admitNext(tokens, agenda.clock()) : gate.admit(tokens, agenda.clock());
        }
        if (!passes && settings.mode() == LimitMode.SHADOW) {
            gate.countDelayed(tokens);
            return true;
        }
        return passes;
    }

    /**
     * Messages that do not wait. The gate gets no later time than it went by: the next message may have come between
     * the two.
     */
    private void countArrived(int messages, long nowNs) {
        gate.arrived(messages, 0, settings.clock() == BucketClock.ARRIVAL ? gate.stampNs() : nowNs);
    }

    /** What waits for room in a channel does not ask for supply: more of it would not help. */
    private int waitingForTokens() {
        return waiting == 0 || shard.hasRoom(1) ? waiting : 0;
    }

    /** Messages that passed: how long since they came to the cluster. Placement can shorten this time. */
    private void countDelay(int messages, long arrivalNs, boolean inLine) {
        if (delays.isEmpty()) {
            agenda.addDelayed(this);
        }
        delays.add(gate.readNs() - arrivalNs, messages, inLine);
    }

    DelayCounts.Window takeDelays() {
        return delays.take();
    }

    /** Of all messages that passed here. */
    DelayTotals delays() {
        return delays.totals();
    }

    /** After a refusal, for the time of that refusal: a later one might take the tokens. */
    private long retryAfterNs(int tokens) {
        long retryNs = gate.retryAfterNs(tokens, gate.stampNs());
        return retryNs == TokenBucket.NEVER ? Duty.NO_DEADLINE : retryNs;
    }

    private void throttle(Publication publication) {
        int count = publication.left();
        gate.countRefused(count);
        publications.end(publication, Outcome.THROTTLED, retryAfterNs(count), null);
    }

    private void refuseAsTooLarge(Publication publication) {
        refuse(
                publication,
                Outcome.HELD_UP,
                "the topic's limit lets at most " + (long) mostAtOnce + " messages pass within its "
                        + TimeUnit.NANOSECONDS.toMillis(settings.maxDelayNs()) + " ms: publish fewer than "
                        + publication.count + " at once");
    }

    private void refuse(Publication publication, Outcome outcome, String reason) {
        gate.countRefused(publication.left());
        publications.end(publication, outcome, 0, reason);
    }

    /** The topic is gone: every publication fails for this reason. */
    void close(String reason) {
        Publication publication = line.peek();
        while (publication != null) {
            leave(publication);
            publications.end(publication, settings == null ? Outcome.UNKNOWN_TOPIC : Outcome.FAILED, 0, reason);
            publication = line.peek();
        }
    }

    /** Something has changed for which messages may wait: room, or the definition. */
    void retryNow() {
        retryAtNs = agenda.nowNs();
    }

    long retryAtNs() {
        return retryAtNs;
    }

    int waiting() {
        return waiting;
    }

    /** Of the message store, that those take which wait. */
    long waitingBytes() {
        return waitingBytes;
    }

    /** It is empty. */
    void leftAgenda() {
        listed = false;
        shard.endIfDone();
    }
}
