package io.weir.limiter.algorithm;

import io.weir.config.value.Limit;
import java.util.Arrays;
import java.util.Optional;

/**
 * Tokens that move between brokers on demand: one broker's end of it for one topic. Events go in, what to send comes
 * out; it has no clock, no timer and no network of its own.
 *
 * <p><b>Safe</b> by the reservation rule. A request reserves room in the asker's bucket (asked ≤ β − λ, own refill
 * stops at β − Σ asked); the giver debits before it sends; a reply counts once, only while its request is open. So Σλ +
 * what is in flight and may still be accepted never exceeds Σβ, and a message that is lost, late or repeated only
 * admits less. Ids grow within one object's life: an object lives for one incarnation and one limit version, and the
 * caller drops what carries another. Whatever lowers β calls {@link #cancel} first.
 *
 * <p><b>Policy</b>, found by simulation at SRTM's Fig. 6a load (the experiment {@code drl-penalty} measures it), with e
 * = λ − waiting, "free":
 *
 * <ul>
 *   <li><i>Whom and when</i>: whoever hears of another remembers its e and lets it grow by the own ρ, up to β. The peer
 *       that seems to be richest is asked when it seems to have a whole message, and β/3 more than this broker will
 *       have when everything it already asked for has come. So it asks before it is empty, is silent when all are
 *       equally rich or poor, and asks several at once only for what one can't give; one request is open for each peer.
 *   <li><i>How much</i>: half of that difference, and never so much that own refill could not complete one message.
 *   <li><i>How much to keep</i>: the giver gives half the difference of e, at most what was asked and at most its e.
 * </ul>
 *
 * <p>A request without an answer is given up after {@code patienceNs}. Doubles are used only for what another seems to
 * have, which nothing is conserved by.
 */
public class Borrowing {
    /**
     * Asks a peer for up to {@code askedMicros}; {@code freeMicros} is what the asker has or has coming, less what
     * waits.
     */
    public record Request(int peer, long id, long askedMicros, long freeMicros) {}

    /** Answers {@link Request} {@code id} of a peer; {@code freeMicros} is what the giver has left, less what waits. */
    public record Reply(int peer, long id, long givenMicros, long freeMicros) {}

    /** The asker asks when another seems to have this part of β more. */
    private static final int GAP_PART = 3;

    /** Less than a hundredth of a message is not worth two. */
    private static final long LEAST_ASKED_MICROS = Limit.MICROS / 100;

    private static final long NO_REQUEST = 0;

    private final TokenBucket bucket;
    private final long patienceNs;
    private final long[] openId;
    private final long[] openAskedMicros;
    private final long[] openedNs;
    private final long[] heardFreeMicros;
    private final long[] heardNs;
    private final long[] answeredId;
    private long lastId = NO_REQUEST;
    private int open;

    /**
     * @param bucket this broker's share; borrowing reserves, adds and removes, the gate takes
     * @param peers how many it may ask; they are named by 0 to peers − 1
     * @param patienceNs after which a request counts as lost: several round trips
     */
    public Borrowing(TokenBucket bucket, int peers, long patienceNs, long nowNs) {
        this.bucket = bucket;
        this.patienceNs = patienceNs;
        openId = new long[peers];
        openAskedMicros = new long[peers];
        openedNs = new long[peers];
        heardFreeMicros = new long[peers];
        heardNs = new long[peers];
        answeredId = new long[peers];
        Arrays.fill(heardFreeMicros, bucket.burstMicros());
        Arrays.fill(heardNs, nowNs);
    }

    /**
     * Whether to ask somebody now; to be called after a message came or went and after a reply, until it answers empty.
     *
     * @param waitingMicros what the messages that wait at this broker cost
     */
    public Optional<Request> ask(long waitingMicros, long nowNs) {
        giveUpOverdue(nowNs);
        long held = bucket.levelMicros(nowNs) + bucket.reservedMicros();
        long hoped = held - waitingMicros;
        long room = bucket.burstMicros() - Limit.MICROS - held;
        if (room < LEAST_ASKED_MICROS) {
            return Optional.empty();
        }
        double most = Math.max(Limit.MICROS, hoped + bucket.burstMicros() / (double) GAP_PART);
        int richest = -1;
        for (int peer = 0; peer < openId.length; peer++) {
            if (openId[peer] == NO_REQUEST) {
                double seems = seemsFreeMicros(peer, nowNs);
                if (seems > most) {
                    most = seems;
                    richest = peer;
                }
            }
        }
        long wanted = Math.min((long) (most - hoped) / 2, room);
        return richest < 0 || wanted < LEAST_ASKED_MICROS
                ? Optional.empty()
                : Optional.of(open(richest, wanted, hoped, nowNs));
    }

    /** Answers a peer's request; not at all if it was answered before. The tokens have left the bucket on return. */
    public Optional<Reply> onRequest(int peer, Request request, long waitingMicros, long nowNs) {
        if (request.id() <= answeredId[peer]) {
            return Optional.empty();
        }
        answeredId[peer] = request.id();
        long free = bucket.levelMicros(nowNs) - waitingMicros;
        hear(peer, request.freeMicros(), nowNs);
        long half = Math.floorDiv(free - request.freeMicros(), 2L);
        long given = Math.max(0, Math.min(Math.min(half, request.askedMicros()), free));
        long removed = bucket.removeMicros(given, nowNs);
        return Optional.of(new Reply(peer, request.id(), removed, free - removed));
    }

    /** Takes what a peer gave, if its request is still open; answers what was added. */
    public long onReply(int peer, Reply reply, long nowNs) {
        giveUpOverdue(nowNs);
        if (!accepts(peer, reply.id())) {
            return 0;
        }
        long asked = openAskedMicros[peer];
        close(peer, nowNs);
        hear(peer, reply.freeMicros(), nowNs);
        return bucket.addMicros(Math.min(reply.givenMicros(), asked), nowNs);
    }

    /** Whether a reply with this id would still count. */
    public boolean accepts(int peer, long id) {
        return id != NO_REQUEST && openId[peer] == id;
    }

    /**
     * Gives up every open request, so that β may fall or the level be declared unknown; their replies no longer count.
     */
    public void cancel(long nowNs) {
        for (int peer = 0; peer < openId.length; peer++) {
            if (openId[peer] != NO_REQUEST) {
                close(peer, nowNs);
            }
        }
    }

    /** Keeps room for what is asked: the rule that makes a late reply harmless. */
    protected long reserve(long micros, long nowNs) {
        return bucket.reserveMicros(micros, nowNs);
    }

    protected void release(long micros, long nowNs) {
        bucket.releaseMicros(micros, nowNs);
    }

    private Request open(int peer, long wantedMicros, long freeMicros, long nowNs) {
        openId[peer] = ++lastId;
        openAskedMicros[peer] = reserve(wantedMicros, nowNs);
        openedNs[peer] = nowNs;
        open++;
        return new Request(peer, lastId, openAskedMicros[peer], freeMicros);
    }

    private void close(int peer, long nowNs) {
        openId[peer] = NO_REQUEST;
        release(openAskedMicros[peer], nowNs);
        open--;
    }

    /** A peer that does not answer counts as empty, so that it is asked again only after a while. */
    private void giveUpOverdue(long nowNs) {
        if (open == 0) {
            return;
        }
        for (int peer = 0; peer < openId.length; peer++) {
            if (openId[peer] != NO_REQUEST && nowNs - openedNs[peer] > patienceNs) {
                close(peer, nowNs);
                hear(peer, 0, nowNs);
            }
        }
    }

    private void hear(int peer, long freeMicros, long nowNs) {
        heardFreeMicros[peer] = freeMicros;
        heardNs[peer] = nowNs;
    }

    private double seemsFreeMicros(int peer, long nowNs) {
        double grown = heardFreeMicros[peer] + bucket.rateMicros() * 1e-9 * (nowNs - heardNs[peer]);
        return Math.min(grown, Math.max(bucket.burstMicros(), heardFreeMicros[peer]));
    }
}
