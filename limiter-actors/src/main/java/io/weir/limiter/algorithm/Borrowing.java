package io.weir.limiter.algorithm;

import io.weir.config.value.Limit;
import java.util.Arrays;

/**
 * Tokens that move between brokers on demand: one broker's end of it for one topic. Events go in, what to send comes
 * out; it has no clock, no timer and no network of its own, and allocates nothing.
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
 *   <li><i>Whom</i>: the peer that seems to be richest. Whoever hears of another remembers its e and lets it grow by a
 *       quarter of the own ρ, since the rest is used there, up to β. One request is open for each peer.
 *   <li><i>When</i>: if e and what is coming together are <i>low</i>, that is below the next message and twice what
 *       refill brings until a reply comes, and the richest has two messages more. Also if the richest has β/4 more, low
 *       or not: a bucket that is full wastes its refill while another has room for it. Where messages wait, also if the
 *       richest is not known to have anything: what was heard last is soon wrong, and a message's wait is longer than
 *       the way there and back.
 *   <li><i>From whom rests</i>: a broker that has had no reason to ask for a while says so, and how much its bucket
 *       holds. Such a bucket is everybody's: it is asked whenever it seems to hold half of that above what it keeps,
 *       before it is full and wastes its refill, and lends all but a quarter. So a reserve that lies at an idle broker
 *       is used up by the busy one as if it were there, with two messages for each half bucket.
 *   <li><i>Backing off</i>: a peer that gave less than half a message is left alone for a round trip, then for twice as
 *       long, up to {@value #LONGEST_PAUSE_MS} ms. So when the whole cluster is at its limit hardly anybody asks.
 *   <li><i>How much</i>: half of the difference, no more than the peer seems to have, and never so much that own refill
 *       could not complete one message: room that is kept for a reply is lost to refill until the reply comes.
 *   <li><i>How much to keep</i>: the giver gives half the difference of e, at most what was asked and at most its e.
 * </ul>
 *
 * (The first policy asked for β/3 alone, and let others grow by ρ: 1.95 control messages a message with six brokers, a
 * p99 of 0.31 ms, links of 50 µs. This one needs 0.8 for 0.45 to 0.7 ms; with links of 100 µs 0.75 for 0.8 ms, and with
 * three brokers 0.3 for 0.4 ms.)
 *
 * <p>A reply that is late, by several round trips, is not counted on any more, so that another peer is asked; a request
 * without an answer is given up after {@code patienceNs}. Doubles are used only for what another seems to have, which
 * nothing is conserved by.
 */
public class Borrowing {
    /** Also when it is not low, it asks if another seems to have this part of β more. */
    private static final int GAP_PART = 4;
    /** For less than this many messages of difference nobody is asked, unless messages wait. */
    private static final long LEAST_GAP_MICROS = 2 * Limit.MICROS;
    /** Of what refill brings in a round trip, what must be there beside the next message. */
    private static final int AHEAD_ROUND_TRIPS = 2;
    /** Others use what refill brings them but for this part. */
    private static final double UNUSED = 0.25;
    /** Who has not had to ask for so long rests. */
    private static final long RESTING_NS = 10_000_000;
    /** Of its burst, what a resting bucket keeps for messages that come there. */
    private static final int KEPT_AT_REST_PART = 4;

    /** After so many round trips a reply is late. */
    private static final int LATE_ROUND_TRIPS = 4;

    /** Less than a hundredth of a message is not worth two. */
    private static final long LEAST_ASKED_MICROS = Limit.MICROS / 100;

    static final int LONGEST_PAUSE_MS = 200;
    private static final long LONGEST_PAUSE_NS = LONGEST_PAUSE_MS * 1_000_000L;
    private static final long NO_REQUEST = 0;
    /** For {@link #ask}. */
    public static final long EVERYBODY = -1;

    private static final long FIRST_ROUND_TRIP_NS = 200_000;
    private static final long LONGEST_ROUND_TRIP_NS = 5_000_000;

    private final TokenBucket bucket;
    private final long patienceNs;
    private final long[] openId;
    private final long[] openAskedMicros;
    private final long[] openedNs;
    private final long[] heardFreeMicros;
    private final long[] heardNs;
    /** 0: the peer does not rest. */
    private final long[] restingMicros;

    private final long[] pauseNs;
    private final long[] answeredId;
    private long roundTripNs = FIRST_ROUND_TRIP_NS;
    private long lastId = NO_REQUEST;
    private int open;
    private long lastAskedNs;

    /**
     * @param bucket this broker's share; borrowing reserves, adds and removes, the gate takes
     * @param peers how many it may ask; they are named by 0 to peers − 1
     * @param patienceNs after which a request counts as lost: many round trips
     */
    public Borrowing(TokenBucket bucket, int peers, long patienceNs, long nowNs) {
        this.bucket = bucket;
        this.patienceNs = patienceNs;
        openId = new long[peers];
        openAskedMicros = new long[peers];
        openedNs = new long[peers];
        heardFreeMicros = new long[peers];
        heardNs = new long[peers];
        restingMicros = new long[peers];
        pauseNs = new long[peers];
        answeredId = new long[peers];
        Arrays.fill(heardFreeMicros, bucket.burstMicros());
        Arrays.fill(heardNs, nowNs);
        lastAskedNs = nowNs;
    }

    /**
     * Whether to ask somebody now; to be called after a message came or went and after a reply, until it answers false.
     *
     * @param peers who can be asked, a bit for each by its number
     * @param waitingMicros what the messages that wait at this broker cost
     * @param request is filled if there is one to be sent
     */
    public boolean ask(long peers, long waitingMicros, long nowNs, Loan request) {
        lastAskedNs = nowNs;
        long hoped = bucket.levelMicros(nowNs) + coming(nowNs) - waitingMicros;
        long room = bucket.burstMicros() - Limit.MICROS - bucket.levelMicros(nowNs) - bucket.reservedMicros();
        if (room < LEAST_ASKED_MICROS) {
            return false;
        }
        if (askResting(peers, room, hoped, nowNs, request)) {
            return true;
        }
        double most = hoped < 0 ? Long.MIN_VALUE : Math.max(Limit.MICROS, hoped + gapMicros(hoped));
        int richest = -1;
        for (int peer = 0; peer < openId.length; peer++) {
            if (mayBeAsked(peer, peers, nowNs)) {
                double seems = seemsFreeMicros(peer, nowNs);
                if (seems > most) {
                    most = seems;
                    richest = peer;
                }
            }
        }
        if (richest < 0) {
            return false;
        }
        // No room is kept for what the peer can hardly have: own refill may need it.
        long half = Math.max((long) (most - hoped) / 2, Math.min(Limit.MICROS, -hoped));
        long wanted = Math.min(Math.min(half, Math.max(Limit.MICROS, (long) most)), room);
        if (wanted < LEAST_ASKED_MICROS) {
            return false;
        }
        open(richest, wanted, hoped, nowNs, request);
        return true;
    }

    private boolean askResting(long peers, long room, long hoped, long nowNs, Loan request) {
        for (int peer = 0; peer < openId.length; peer++) {
            long resting = restingMicros[peer];
            if (resting > 0 && mayBeAsked(peer, peers, nowNs)) {
                long worth = Math.max(Limit.MICROS, resting / 2);
                long lends = (long) seemsFreeMicros(peer, nowNs) - keptAtRestMicros(resting);
                if (lends >= worth && room >= worth) {
                    open(peer, Math.min(lends, room), hoped, nowNs, request);
                    return true;
                }
            }
        }
        return false;
    }

    private boolean mayBeAsked(int peer, long peers, long nowNs) {
        return (peers >>> peer & 1) == 1 && openId[peer] == NO_REQUEST && nowNs - heardNs[peer] >= pauseNs[peer];
    }

    private static long keptAtRestMicros(long burstMicros) {
        return Math.max(Limit.MICROS, burstMicros / KEPT_AT_REST_PART);
    }

    private long gapMicros(long hoped) {
        boolean isLow = hoped < lowWaterMicros();
        return isLow ? LEAST_GAP_MICROS : Math.max(LEAST_GAP_MICROS, bucket.burstMicros() / GAP_PART);
    }

    /** It is low below this: enough for the next message, and for what comes until the reply does. */
    private long lowWaterMicros() {
        long untilReply = (long) (bucket.rateMicros() * 1e-9 * roundTripNs * AHEAD_ROUND_TRIPS);
        return Math.min(Limit.MICROS + untilReply, bucket.burstMicros() / 2);
    }

    /** Whether there is room to borrow for: cheap, so that it can be asked after every message. */
    public boolean hasRoom() {
        return bucket.lastLevelMicros() < bucket.burstMicros() - LEAST_GAP_MICROS;
    }

    /**
     * Answers a peer's request; not at all if it was answered before. The tokens have left the bucket on return.
     *
     * @param reply is filled if there is one to be sent
     */
    public boolean onRequest(int peer, Loan request, long waitingMicros, long nowNs, Loan reply) {
        if (request.id() <= answeredId[peer]) {
            return false;
        }
        answeredId[peer] = request.id();
        long free = bucket.levelMicros(nowNs) - waitingMicros;
        hear(peer, request.freeMicros(), 0, nowNs);
        boolean rests = nowNs - lastAskedNs > RESTING_NS;
        long half = Math.floorDiv(free - request.freeMicros(), 2L);
        long most = rests ? Math.max(half, free - keptAtRestMicros(bucket.burstMicros())) : half;
        long given = Math.max(0, Math.min(Math.min(most, request.micros()), free));
        long removed = bucket.removeMicros(given, nowNs);
        reply.set(peer, request.id(), removed, free - removed, rests ? bucket.burstMicros() : 0);
        return true;
    }

    /** Takes what a peer gave, if its request is still open; answers what was added. */
    public long onReply(int peer, Loan reply, long nowNs) {
        giveUpOverdue(nowNs);
        if (!accepts(peer, reply.id())) {
            return 0;
        }
        long asked = openAskedMicros[peer];
        long tookNs = Math.min(LONGEST_ROUND_TRIP_NS, nowNs - openedNs[peer]);
        roundTripNs += (tookNs - roundTripNs) / 8;
        close(peer, nowNs);
        hear(peer, reply.freeMicros(), reply.restingMicros(), nowNs);
        long added = bucket.addMicros(Math.min(reply.micros(), asked), nowNs);
        boolean inVain = added < Limit.MICROS / 2;
        pauseNs[peer] = inVain ? Math.min(LONGEST_PAUSE_NS, Math.max(roundTripNs, 2 * pauseNs[peer])) : 0;
        return added;
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
            cancel(peer, nowNs);
        }
    }

    /** The same for one peer: the request could not be sent. */
    public void cancel(int peer, long nowNs) {
        if (openId[peer] != NO_REQUEST) {
            close(peer, nowNs);
        }
    }

    /** Another life of a peer, or another peer, has this number from now on. */
    public void peerChanged(int peer, long nowNs) {
        cancel(peer, nowNs);
        answeredId[peer] = NO_REQUEST;
        pauseNs[peer] = 0;
        hear(peer, bucket.burstMicros(), 0, nowNs);
    }

    /** Keeps room for what is asked: the rule that makes a late reply harmless. */
    protected long reserve(long micros, long nowNs) {
        return bucket.reserveMicros(micros, nowNs);
    }

    protected void release(long micros, long nowNs) {
        bucket.releaseMicros(micros, nowNs);
    }

    private void open(int peer, long wantedMicros, long freeMicros, long nowNs, Loan request) {
        openId[peer] = ++lastId;
        openAskedMicros[peer] = reserve(wantedMicros, nowNs);
        openedNs[peer] = nowNs;
        open++;
        request.set(peer, lastId, openAskedMicros[peer], freeMicros, 0);
    }

    private void close(int peer, long nowNs) {
        openId[peer] = NO_REQUEST;
        release(openAskedMicros[peer], nowNs);
        open--;
    }

    /** What open requests will bring, without those whose reply is late. Gives up those that wait for too long. */
    private long coming(long nowNs) {
        giveUpOverdue(nowNs);
        long coming = 0;
        for (int peer = 0; open > 0 && peer < openId.length; peer++) {
            if (openId[peer] != NO_REQUEST && nowNs - openedNs[peer] <= LATE_ROUND_TRIPS * roundTripNs) {
                coming += openAskedMicros[peer];
            }
        }
        return coming;
    }

    /** A peer that does not answer counts as empty, so that it is asked again only after a while. */
    private void giveUpOverdue(long nowNs) {
        for (int peer = 0; open > 0 && peer < openId.length; peer++) {
            if (openId[peer] != NO_REQUEST && nowNs - openedNs[peer] > patienceNs) {
                close(peer, nowNs);
                hear(peer, 0, 0, nowNs);
                pauseNs[peer] = LONGEST_PAUSE_NS;
            }
        }
    }

    private void hear(int peer, long freeMicros, long resting, long nowNs) {
        heardFreeMicros[peer] = freeMicros;
        restingMicros[peer] = resting;
        heardNs[peer] = nowNs;
    }

    /** A resting peer's refill is in the same proportion to its burst as the own, and nobody uses it. */
    private double seemsFreeMicros(int peer, long nowNs) {
        if (restingMicros[peer] > 0) {
            double part = (double) restingMicros[peer] / bucket.burstMicros();
            double refilled = part * bucket.rateMicros() * 1e-9 * (nowNs - heardNs[peer]);
            return Math.min(heardFreeMicros[peer] + refilled, restingMicros[peer]);
        }
        double grown = heardFreeMicros[peer] + UNUSED * bucket.rateMicros() * 1e-9 * (nowNs - heardNs[peer]);
        return Math.min(grown, Math.max(bucket.burstMicros(), heardFreeMicros[peer]));
    }
}
