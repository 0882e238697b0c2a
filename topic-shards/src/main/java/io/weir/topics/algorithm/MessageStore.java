package io.weir.topics.algorithm;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * The bodies of all messages that a broker holds, outside the heap, each once however many channels it waits in: they
 * share it by a count of references, and the last to release it frees it.
 *
 * <p>Memory comes in slabs. A slab is cut into blocks of one size class, four classes to a doubling (so at most a
 * quarter of a block is unused), and when its last message goes, it may serve another class. So nothing is allocated
 * once there are as many slabs as are needed at the worst, and a burst of large messages does not keep small ones out
 * for good. When all slabs are in use a message takes a block of a larger class; only one that is larger than all free
 * blocks finds no room then.
 *
 * <pre>
 *  block: | int64 timestamp | int64 id | int32 length | int32 references | int32 owners | int64 due | uint16 length, context | body |
 * </pre>
 *
 * The two uppermost bits of the body's length say whether a message has a context and a time at which it is due; most
 * have neither, and then no room is taken for them. So a message of a hundred bytes takes two lines of the processor's
 * cache: slabs begin at such a line. A message is named by an {@code int}: the place of its block, in units of 32
 * bytes.
 *
 * <p>Every message is charged to its topic's {@link MemoryAccount}, and to that of its publisher's token if it has one:
 * the bytes of its block, and each of its references. Slabs that nobody needed between two calls of {@link #trim} are
 * given back.
 */
public final class MessageStore {
    public static final int FULL = -1;
    /** Topics that may have an account at a time. */
    public static final int MAX_TOPICS = 1 << 20;
    /** The greatest number of a token. */
    public static final int MAX_TOKENS = (1 << 12) - 1;

    /** Where slabs come from and go to. */
    @FunctionalInterface
    public interface Slabs {
        /** @throws OutOfMemoryError if there is none */
        ByteBuffer take(int bytes);

        default void free(ByteBuffer slab) {}
    }

    private static final int UNIT = 32;
    private static final int CACHE_LINE = 64;
    private static final int HEADER = 28;
    private static final int ID = 8;
    private static final int LENGTH = 16;
    private static final int REFERENCES = 20;
    /** Above the topic's account, in the lower bits, the token's; 0 for none. */
    private static final int OWNERS = 24;

    private static final int TOPIC_BITS = 20;
    private static final int DUE_LENGTH = 8;
    private static final int WITH_CONTEXT = 1 << 31;
    private static final int WITH_DUE = 1 << 30;
    private static final int MAX_LENGTH = WITH_DUE - 1;
    private static final int CONTEXT_LENGTH = 2;
    private static final int MAX_CONTEXT = 0xffff;
    private static final int LEAST_SLAB = 1 << 20;
    private static final int NONE = -1;
    private static final long RETRY_NS = TimeUnit.SECONDS.toNanos(60);

    private final Slabs memory;
    private final int slabUnits;
    private final int unitBits;
    private int maxSlabs;
    /** By the messages' own times, while the bound is lower than it should be. */
    private long shortSinceNs;

    private final ByteBuffer[] slabs;
    private final int[] classOf;
    private final int[] used;
    private final int[] firstFree;
    private final int[] uncut;
    /** Slabs of one class that have room, as a list; the neighbours of each. */
    private final int[] before;

    private final int[] after;
    private final int[] roomy;
    private final int[] idle;
    private int idleSlabs;
    /** The fewest there were since the last {@link #trim}. */
    private int leastIdle;

    /** Slabs without memory. */
    private final int[] unmade;

    private int slabsMade;
    private long messages;
    private long entries;
    private final MemoryAccount nobody = new MemoryAccount(0);
    private MemoryAccount[] topics = {nobody};
    private int topicsMade = 1;
    private final ArrayDeque<MemoryAccount> spareTopics = new ArrayDeque<>();
    private MemoryAccount[] tokens = {};
    /**
     * Units of blocks that messages have, and of ends of slabs in use that are too short for another block: what
     * nothing can be put into.
     */
    private long takenUnits;

    /**
     * @param maxBytes of all slabs
     * @param maxMessageBytes the largest body that will come, its context included
     */
    public MessageStore(long maxBytes, int maxMessageBytes) {
        this(maxBytes, maxMessageBytes, MessageStore::fromCacheLine);
    }

    private static ByteBuffer fromCacheLine(int bytes) {
        return ByteBuffer.allocateDirect(bytes + CACHE_LINE - 1).alignedSlice(CACHE_LINE);
    }

    public MessageStore(long maxBytes, int maxMessageBytes, Slabs memory) {
        this.memory = memory;
        int slabBytes = LEAST_SLAB;
        while (slabBytes < maxMessageBytes + HEADER + DUE_LENGTH + CONTEXT_LENGTH) {
            slabBytes <<= 1;
        }
        slabUnits = slabBytes / UNIT;
        unitBits = Integer.numberOfTrailingZeros(slabUnits);
        maxSlabs = (int) Math.min(maxBytes / slabBytes, Integer.MAX_VALUE >> unitBits);
        if (maxSlabs < 1) {
            throw new IllegalArgumentException("a store of " + maxBytes + " bytes cannot hold a slab of " + slabBytes);
        }
        slabs = new ByteBuffer[maxSlabs];
        classOf = new int[maxSlabs];
        used = new int[maxSlabs];
        firstFree = new int[maxSlabs];
        uncut = new int[maxSlabs];
        before = new int[maxSlabs];
        after = new int[maxSlabs];
        idle = new int[maxSlabs];
        unmade = new int[maxSlabs];
        for (int i = 0; i < maxSlabs; i++) {
            unmade[i] = maxSlabs - 1 - i;
        }
        roomy = new int[sizeClass(slabUnits) + 1];
        Arrays.fill(roomy, NONE);
    }

    /**
     * Copies a body in, with one reference.
     *
     * @param dueNs when it may be delivered first, or 0
     * @return its name, or {@link #FULL}
     */
    public int put(ByteBuffer from, int at, int length, long timestampNs, long id, long dueNs) {
        return put(from, 0, 0, at, length, timestampNs, id, dueNs);
    }

    /** As the other, with a context of {@code contextLength} bytes, or none if that is 0. */
    public int put(
            ByteBuffer from,
            int contextAt,
            int contextLength,
            int at,
            int length,
            long timestampNs,
            long id,
            long dueNs) {
        return put(nobody, null, from, contextAt, contextLength, at, length, timestampNs, id, dueNs);
    }

    /**
     * As the others, for a topic.
     *
     * @param token the account of its publisher's token, or null
     */
    public int put(
            MemoryAccount topic,
            MemoryAccount token,
            ByteBuffer from,
            int contextAt,
            int contextLength,
            int at,
            int length,
            long timestampNs,
            long id,
            long dueNs) {
        int due = dueNs == 0 ? 0 : DUE_LENGTH;
        int before = due + (contextLength == 0 ? 0 : CONTEXT_LENGTH + contextLength);
        long blockBytes = (long) HEADER + before + length;
        if (contextLength > MAX_CONTEXT || blockBytes > (long) slabUnits * UNIT) {
            throw new IllegalArgumentException("a body of " + length + " bytes with a context of " + contextLength
                    + " does not fit in a slab of " + slabUnits * UNIT);
        }
        int units = ((int) blockBytes + UNIT - 1) / UNIT;
        int sizeClass = sizeClass(units);
        int slab = roomy[sizeClass];
        if (slab == NONE) {
            slab = openSlab(sizeClass, timestampNs);
            if (slab == NONE) {
                slab = roomyOfLargerClass(sizeClass);
            }
            if (slab == NONE) {
                return FULL;
            }
        }
        int unit = cut(slab, classOf[slab]);
        ByteBuffer bytes = slabs[slab];
        int base = unit * UNIT;
        bytes.putLong(base, timestampNs);
        bytes.putLong(base + ID, id);
        bytes.putInt(base + LENGTH, length | (contextLength == 0 ? 0 : WITH_CONTEXT) | (due == 0 ? 0 : WITH_DUE));
        bytes.putInt(base + REFERENCES, 1);
        bytes.putInt(base + OWNERS, topic.number | (token == null ? 0 : token.number << TOPIC_BITS));
        if (due > 0) {
            bytes.putLong(base + HEADER, dueNs);
        }
        if (contextLength > 0) {
            bytes.putShort(base + HEADER + due, (short) contextLength);
            bytes.put(base + HEADER + due + CONTEXT_LENGTH, from, contextAt, contextLength);
        }
        bytes.put(base + HEADER + before, from, at, length);
        messages++;
        entries++;
        long blockTaken = (long) classUnits(classOf[slab]) * UNIT;
        topic.bytes += blockTaken;
        topic.entries++;
        if (token != null) {
            token.bytes += blockTaken;
            token.entries++;
        }
        return slab << unitBits | unit;
    }

    public void retain(int message, int references) {
        ByteBuffer bytes = slab(message);
        int at = base(message) + REFERENCES;
        bytes.putInt(at, bytes.getInt(at) + references);
        entries += references;
        charge(bytes.getInt(base(message) + OWNERS), references, 0);
    }

    private void charge(int owners, int moreEntries, int moreBytes) {
        MemoryAccount topic = topics[owners & MAX_TOPICS - 1];
        topic.entries += moreEntries;
        topic.bytes += moreBytes;
        if (topic.closed && topic.entries == 0) {
            forget(topic);
        }
        int token = owners >>> TOPIC_BITS;
        if (token != 0) {
            tokens[token].entries += moreEntries;
            tokens[token].bytes += moreBytes;
        }
    }

    /** For a topic; to be closed when it is gone. */
    public MemoryAccount open() {
        MemoryAccount account = spareTopics.pollFirst();
        if (account == null) {
            if (topicsMade == MAX_TOPICS) {
                throw new IllegalStateException("more than " + MAX_TOPICS + " topics have messages here");
            }
            if (topicsMade == topics.length) {
                topics = Arrays.copyOf(topics, topicsMade * 2);
            }
            account = new MemoryAccount(topicsMade);
            topics[topicsMade++] = account;
        }
        account.closed = false;
        return account;
    }

    /** Nothing more will be charged to it; what is, stays until it is released. */
    public void close(MemoryAccount topic) {
        topic.closed = true;
        if (topic.entries == 0) {
            forget(topic);
        }
    }

    private void forget(MemoryAccount topic) {
        topic.closed = false;
        spareTopics.addFirst(topic);
    }

    /** The account of the token of that number, from 1 to {@link #MAX_TOKENS}. */
    public MemoryAccount token(int number) {
        if (number >= tokens.length) {
            tokens = Arrays.copyOf(tokens, Math.min(MAX_TOKENS, Math.max(16, number * 2)) + 1);
        }
        if (tokens[number] == null) {
            tokens[number] = new MemoryAccount(number);
        }
        return tokens[number];
    }

    public void release(int message) {
        ByteBuffer bytes = slab(message);
        int at = base(message) + REFERENCES;
        int left = bytes.getInt(at) - 1;
        if (left < 0) {
            throw new IllegalStateException("message " + message + " is released more often than it was retained");
        }
        bytes.putInt(at, left);
        entries--;
        charge(bytes.getInt(base(message) + OWNERS), -1, left == 0 ? -blockBytes(message) : 0);
        if (left == 0) {
            free(message);
        }
    }

    /** What a message takes of the store. */
    public int blockBytes(int message) {
        return classUnits(classOf[message >>> unitBits]) * UNIT;
    }

    /** The slab that holds the message; its body stands at {@link #bodyAt}. */
    public ByteBuffer slab(int message) {
        return slabs[message >>> unitBits];
    }

    public int bodyAt(int message) {
        int contextLength = contextLength(message);
        int afterDue = afterDue(slab(message), base(message));
        return contextLength == 0 ? afterDue : afterDue + CONTEXT_LENGTH + contextLength;
    }

    public int length(int message) {
        return slab(message).getInt(base(message) + LENGTH) & MAX_LENGTH;
    }

    /** Where the context stands in the slab if there is one. */
    public int contextAt(int message) {
        return afterDue(slab(message), base(message)) + CONTEXT_LENGTH;
    }

    /** Of the message's context, 0 if it has none. */
    public int contextLength(int message) {
        ByteBuffer bytes = slab(message);
        int base = base(message);
        return bytes.getInt(base + LENGTH) >= 0 ? 0 : bytes.getShort(afterDue(bytes, base)) & MAX_CONTEXT;
    }

    private static int afterDue(ByteBuffer bytes, int base) {
        return (bytes.getInt(base + LENGTH) & WITH_DUE) == 0 ? base + HEADER : base + HEADER + DUE_LENGTH;
    }

    public long timestampNs(int message) {
        return slab(message).getLong(base(message));
    }

    public long id(int message) {
        return slab(message).getLong(base(message) + ID);
    }

    /** 0 if it may be delivered from the first. */
    public long dueNs(int message) {
        ByteBuffer bytes = slab(message);
        int base = base(message);
        return (bytes.getInt(base + LENGTH) & WITH_DUE) == 0 ? 0 : bytes.getLong(base + HEADER);
    }

    public long messages() {
        return messages;
    }

    /** References to all of them. */
    public long entries() {
        return entries;
    }

    /** That nothing can be put into at the moment. */
    public long bytesInUse() {
        return takenUnits * UNIT;
    }

    /** That there may be. */
    public long maxBytes() {
        return (long) maxSlabs * slabUnits * UNIT;
    }

    public long bytesReserved() {
        return (long) slabsMade * slabUnits * UNIT;
    }

    /**
     * Seven eighths are in use: time to hold publishers back, while what they have under way still fits. Room in slabs
     * that have other messages counts as room: else a few leftovers of a peak, one a slab, would hold back everybody.
     */
    public boolean nearlyFull() {
        return takenUnits > (long) (maxSlabs - (maxSlabs + 7) / 8) * slabUnits;
    }

    private int base(int message) {
        return (message & slabUnits - 1) * UNIT;
    }

    private int openSlab(int sizeClass, long nowNs) {
        int slab;
        if (idleSlabs > 0) {
            slab = idle[--idleSlabs];
            leastIdle = Math.min(leastIdle, idleSlabs);
        } else if (mayMakeSlab(nowNs) && makeSlab(nowNs)) {
            slab = unmade[unmade.length - ++slabsMade];
        } else {
            return NONE;
        }
        classOf[slab] = sizeClass;
        used[slab] = 0;
        firstFree[slab] = NONE;
        uncut[slab] = 0;
        takenUnits += restUnits(sizeClass);
        link(slab, sizeClass);
        return slab;
    }

    private int roomyOfLargerClass(int sizeClass) {
        for (int larger = sizeClass + 1; larger < roomy.length; larger++) {
            if (roomy[larger] != NONE) {
                return roomy[larger];
            }
        }
        return NONE;
    }

    /** Of a slab's end that is too short for another block. */
    private int restUnits(int sizeClass) {
        return slabUnits % classUnits(sizeClass);
    }

    private boolean mayMakeSlab(long nowNs) {
        if (maxSlabs < slabs.length && Math.abs(nowNs - shortSinceNs) >= RETRY_NS) {
            maxSlabs = slabs.length;
        }
        return slabsMade < maxSlabs;
    }

    private boolean makeSlab(long nowNs) {
        try {
            slabs[unmade[unmade.length - 1 - slabsMade]] = memory.take(slabUnits * UNIT);
            return true;
        } catch (OutOfMemoryError e) {
            // The process has less than the setting says, for now: what there is, is the bound until it is tried again.
            // That takes half a second if it is in vain, so it is not tried often.
            maxSlabs = slabsMade;
            shortSinceNs = nowNs;
            return false;
        }
    }

    /** Gives back the slabs that were idle all the time since the last call, but for one. */
    public void trim() {
        int given = Math.max(0, leastIdle - 1);
        for (int i = 0; i < given; i++) {
            int slab = idle[i];
            memory.free(slabs[slab]);
            slabs[slab] = null;
            unmade[unmade.length - slabsMade--] = slab;
        }
        System.arraycopy(idle, given, idle, 0, idleSlabs - given);
        idleSlabs -= given;
        leastIdle = idleSlabs;
    }

    private int cut(int slab, int sizeClass) {
        int unit = firstFree[slab];
        if (unit != NONE) {
            firstFree[slab] = slabs[slab].getInt(unit * UNIT);
        } else {
            unit = uncut[slab];
            uncut[slab] = unit + classUnits(sizeClass);
        }
        used[slab]++;
        takenUnits += classUnits(sizeClass);
        if (firstFree[slab] == NONE && uncut[slab] + classUnits(sizeClass) > slabUnits) {
            unlink(slab, sizeClass);
        }
        return unit;
    }

    private void free(int message) {
        int slab = message >>> unitBits;
        int unit = message & slabUnits - 1;
        int sizeClass = classOf[slab];
        boolean wasFull = firstFree[slab] == NONE && uncut[slab] + classUnits(sizeClass) > slabUnits;
        slabs[slab].putInt(unit * UNIT, firstFree[slab]);
        firstFree[slab] = unit;
        messages--;
        takenUnits -= classUnits(sizeClass);
        if (--used[slab] == 0) {
            takenUnits -= restUnits(sizeClass);
            if (!wasFull) {
                unlink(slab, sizeClass);
            }
            idle[idleSlabs++] = slab;
        } else if (wasFull) {
            link(slab, sizeClass);
        }
    }

    private void link(int slab, int sizeClass) {
        int first = roomy[sizeClass];
        before[slab] = NONE;
        after[slab] = first;
        if (first != NONE) {
            before[first] = slab;
        }
        roomy[sizeClass] = slab;
    }

    private void unlink(int slab, int sizeClass) {
        if (before[slab] == NONE) {
            roomy[sizeClass] = after[slab];
        } else {
            after[before[slab]] = after[slab];
        }
        if (after[slab] != NONE) {
            before[after[slab]] = before[slab];
        }
    }

    /** Up to 8 units every size has its class; above, four classes to a doubling. */
    static int sizeClass(int units) {
        if (units <= 8) {
            return units - 1;
        }
        int power = 31 - Integer.numberOfLeadingZeros(units - 1);
        int step = 1 << power - 2;
        return 8 + (power - 3) * 4 + (units + step - 1) / step - 5;
    }

    static int classUnits(int sizeClass) {
        if (sizeClass < 8) {
            return sizeClass + 1;
        }
        int power = (sizeClass - 8) / 4 + 3;
        return ((sizeClass - 8) % 4 + 5) << power - 2;
    }
}
