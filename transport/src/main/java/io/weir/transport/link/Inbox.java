package io.weir.transport.link;

import io.weir.config.value.BrokerId;
import java.util.concurrent.atomic.AtomicBoolean;
import org.agrona.BitUtil;
import org.agrona.BufferUtil;
import org.agrona.DirectBuffer;
import org.agrona.collections.Int2ObjectHashMap;
import org.agrona.concurrent.MessageHandler;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.ringbuffer.OneToOneRingBuffer;
import org.agrona.concurrent.ringbuffer.RingBufferDescriptor;

/**
 * From the link thread, which writes, to the broker's thread, which reads: frames and news of peers in one bounded line. When it is full a
 * write answers false and the writer keeps what it has.
 *
 * <p>A record is the link's number (i32), 4 unused bytes, a value (i64: arrivalNs of a frame, incarnation of a connected peer) and then the
 * frame's body or the peer's name.
 */
final class Inbox {
    static final int RECORD_HEADER_BYTES = 16;

    private static final int FRAME = 1;
    private static final int CONNECTED = 2;
    private static final int LOST = 3;
    private static final int LINK = 0;
    private static final int VALUE = 8;

    private final OneToOneRingBuffer ring;
    private final Runnable wakeUp;
    private final AtomicBoolean woken = new AtomicBoolean();
    private final MessageHandler onRecord = this::onRecord;
    private final Int2ObjectHashMap<Peer> peers = new Int2ObjectHashMap<>();
    private LinkEvents events;

    Inbox(int bytes, Runnable wakeUp) {
        this.ring = new OneToOneRingBuffer(new UnsafeBuffer(BufferUtil.allocateDirectAligned(
                bytes + RingBufferDescriptor.TRAILER_LENGTH, BitUtil.CACHE_LINE_LENGTH)));
        this.wakeUp = wakeUp;
    }

    boolean frame(int link, long arrivalNs, DirectBuffer body, int offset, int length) {
        int index = claim(FRAME, link, arrivalNs, length);
        if (index < 0) {
            return false;
        }
        ring.buffer().putBytes(index + RECORD_HEADER_BYTES, body, offset, length);
        ring.commit(index);
        return true;
    }

    boolean connected(int link, Peer peer) {
        String name = peer.id().value();
        int index = claim(CONNECTED, link, peer.incarnation(), name.length());
        if (index < 0) {
            return false;
        }
        ring.buffer().putStringWithoutLengthAscii(index + RECORD_HEADER_BYTES, name);
        ring.commit(index);
        return true;
    }

    boolean lost(int link) {
        int index = claim(LOST, link, 0, 0);
        if (index < 0) {
            return false;
        }
        ring.commit(index);
        return true;
    }

    /** Wakes the reader unless it was woken since its last read: a wake-up costs a system call. */
    void wakeReader() {
        if (!woken.get() && woken.compareAndSet(false, true)) {
            wakeUp.run();
        }
    }

    /** By the reader: tells {@code events} up to {@code limit} records, and how many it told. */
    int read(LinkEvents events, int limit) {
        // Before the read: what is written after it wakes again.
        woken.set(false);
        this.events = events;
        return ring.read(onRecord, limit);
    }

    private int claim(int type, int link, long value, int bodyLength) {
        int index = ring.tryClaim(type, RECORD_HEADER_BYTES + bodyLength);
        if (index >= 0) {
            ring.buffer().putInt(index + LINK, link);
            ring.buffer().putLong(index + VALUE, value);
        }
        return index;
    }

    private void onRecord(int type, DirectBuffer buffer, int index, int length) {
        int link = buffer.getInt(index + LINK);
        int bodyLength = length - RECORD_HEADER_BYTES;
        if (type == FRAME) {
            events.onFrame(
                    peers.get(link), buffer, index + RECORD_HEADER_BYTES, bodyLength, buffer.getLong(index + VALUE));
        } else if (type == CONNECTED) {
            String name = buffer.getStringWithoutLengthAscii(index + RECORD_HEADER_BYTES, bodyLength);
            Peer peer = new Peer(new BrokerId(name), buffer.getLong(index + VALUE));
            peers.put(link, peer);
            events.onPeerConnected(peer);
        } else {
            events.onPeerLost(peers.remove(link));
        }
    }
}
