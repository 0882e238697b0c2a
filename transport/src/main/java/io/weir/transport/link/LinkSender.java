package io.weir.transport.link;

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Publication;
import io.aeron.logbuffer.BufferClaim;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.BitUtil;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * What goes out on a link: its publication, and who may use it when. The broker's thread offers and flushes without the
 * {@link LinkLock}; all else but {@link #hasRoomAgain} happens in it.
 *
 * <p>A frame that fits a fragment is written straight into the stream. A longer one is copied first and goes in parts;
 * if the stream is full meanwhile, the rest follows when there is room, before anything else. On a link that is sealed
 * the frames of a turn are collected and sealed together: sealing has a price a piece, and hardly one a byte.
 */
final class LinkSender {
    private static final long NONE = Aeron.NULL_VALUE;
    /** Between two terms Aeron refuses once and takes the next offer; a second refusal in a row is rare. */
    private static final int ADMIN_TRIES = 3;

    /** So much of a turn is sealed at a time: beyond it, sealing together saves nothing, and the peer would wait. */
    private static final int BATCH_BYTES = 16 * 1024;

    /** How much longer a sealed frame may be than the longest that is not. */
    static final int MAX_SEALED_EXTRA_BYTES = BATCH_BYTES + FrameSeal.OVERHEAD_BYTES;

    private final Links links;
    private final String channel;
    private final int stream;

    /** Held by whoever uses or closes the publication: its memory is unmapped when the client closes. */
    private final AtomicBoolean publicationInUse = new AtomicBoolean();

    private final BufferClaim claim = new BufferClaim();
    private final Copy copy = new Copy();
    private ExclusivePublication publication;
    private long publicationId = NONE;
    private long sentAtLastLook;
    private volatile boolean open;
    private volatile boolean waitingForRoom;

    /** A frame that could not be written straight into the stream, and how much of it is there. */
    private final UnsafeBuffer rest = new UnsafeBuffer(new byte[0]);

    private int restLength;
    private int restAt;

    /** Null on a link that is not sealed. */
    private FrameSeal seal;
    /** Frames that will be sealed together, each after its length. */
    private final UnsafeBuffer batch = new UnsafeBuffer(new byte[0]);

    private int batchLength;
    private final UnsafeBuffer helloFrame = new UnsafeBuffer(new byte[Integer.BYTES + LinkFrames.MAX_HELLO_BYTES]);
    private final UnsafeBuffer sealedHello =
            new UnsafeBuffer(new byte[helloFrame.capacity() + FrameSeal.OVERHEAD_BYTES]);

    private final AtomicLong sent = new AtomicLong();
    private final AtomicLong sentBytes = new AtomicLong();
    private final AtomicLong refusedBackPressure = new AtomicLong();
    private final AtomicLong refusedNotConnected = new AtomicLong();
    private final AtomicLong refusedBusy = new AtomicLong();

    LinkSender(String channel, int stream, Links links) {
        this.channel = channel;
        this.stream = stream;
        this.links = links;
    }

    boolean hasPublication() {
        return publication != null;
    }

    /** Asks for the publication; answers whether it is there. */
    boolean askForPublication(Aeron aeron) {
        if (publicationId == NONE) {
            publicationId = aeron.asyncAddExclusivePublication(channel, stream);
        }
        publication = aeron.getExclusivePublication(publicationId);
        return publication != null;
    }

    /** What was asked for and is not there yet will not come. */
    void forgetRequest() {
        if (publication == null) {
            publicationId = NONE;
        }
    }

    /** @param with seals this publication's frames; null if they go as they are */
    void sealWith(FrameSeal with) {
        seal = with;
    }

    boolean isClosed() {
        return publication.isClosed();
    }

    /** Whether anyone hears. */
    boolean isConnected() {
        return publication.isConnected();
    }

    /** Lets go of the publication, or of the request for it. */
    void closePublication(Aeron aeron) {
        open = false;
        while (!publicationInUse.compareAndSet(false, true)) {
            Thread.yield();
        }
        try {
            if (publication != null) {
                publication.close();
            } else if (publicationId != NONE) {
                aeron.asyncRemovePublication(publicationId);
            }
            publication = null;
            publicationId = NONE;
            seal = null;
            restLength = 0;
            restAt = 0;
            batchLength = 0;
        } finally {
            publicationInUse.set(false);
        }
    }

    /** Whether offers are taken. */
    boolean isOpen() {
        return open;
    }

    void setOpen(boolean nowOpen) {
        open = nowOpen;
    }

    /** Whether something was sent since the last call that answered so. */
    boolean hasSentSince() {
        boolean has = sent.get() != sentAtLastLook;
        sentAtLastLook = sent.get();
        return has;
    }

    boolean offer(LinkFrames.Hello hello) {
        if (!publicationInUse.compareAndSet(false, true)) {
            return false;
        }
        try {
            int length = LinkFrames.encodeHello(hello, helloFrame, Integer.BYTES);
            if (seal == null) {
                return publication.offer(helloFrame, Integer.BYTES, length) > 0;
            }
            // A frame that was sealed before has to arrive before.
            if (!sendRest() || tryClaim(Integer.BYTES + length + FrameSeal.OVERHEAD_BYTES) <= 0) {
                return false;
            }
            LinkFrames.encodeLength(length, helloFrame, 0);
            seal.renewIfOld(links.nowNs());
            int sealed = seal.seal(helloFrame.byteArray(), Integer.BYTES + length, sealedHello);
            claim.buffer().putBytes(claim.offset(), sealedHello, 0, sealed);
            claim.commit();
            return true;
        } finally {
            publicationInUse.set(false);
        }
    }

    boolean waitsForRoom() {
        return waitingForRoom && open;
    }

    /** By the link thread, without a turn: whether an offer that was refused may be tried again. */
    boolean hasRoomAgain() {
        if (!waitingForRoom || !publicationInUse.compareAndSet(false, true)) {
            return false;
        }
        try {
            // A quarter of the window, which is half a term: who waits for room then finds enough for a batch.
            if (publication == null || publication.availableWindow() < publication.termBufferLength() / 8) {
                return false;
            }
        } finally {
            publicationInUse.set(false);
        }
        waitingForRoom = false;
        return true;
    }

    boolean offer(DirectBuffer body, int offset, int length, long ageNs) {
        copy.body = body;
        copy.at = offset;
        copy.length = length;
        return offer(length, copy, ageNs);
    }

    /** As above for a body that is not written yet. */
    boolean offer(int length, BodyWriter writer, long ageNs) {
        if (!enter()) {
            return false;
        }
        try {
            int frameLength = LinkFrames.DATA_HEADER_BYTES + length;
            long position;
            if (seal != null) {
                position = collect(frameLength, writer, ageNs);
            } else if (!sendRest()) {
                position = Publication.BACK_PRESSURED;
            } else if (frameLength <= publication.maxPayloadLength()) {
                position = tryClaim(frameLength);
                if (position > 0) {
                    writeClaimed(writer, ageNs);
                }
            } else {
                position = sendInParts(frameLength, writer, ageNs);
            }
            return counted(position, length);
        } finally {
            publicationInUse.set(false);
        }
    }

    /**
     * By the broker's thread, when it has nothing more to offer for now or there may be room again: sends what was
     * collected or is left over.
     */
    void flush() {
        if (restLength == 0 && batchLength == 0 || !open || !enter()) {
            return;
        }
        try {
            if (!sendCollected()) {
                waitForRoom();
            }
        } finally {
            publicationInUse.set(false);
        }
    }

    private long sendInParts(int frameLength, BodyWriter writer, long ageNs) {
        long window = publication.availableWindow();
        if (window < publication.maxPayloadLength()) {
            return window < 0 ? window : Publication.BACK_PRESSURED;
        }
        reserve(rest, frameLength);
        writeFrame(writer, ageNs, rest, 0);
        restLength = frameLength;
        if (!sendRest()) {
            waitForRoom();
        }
        return 1;
    }

    private long collect(int frameLength, BodyWriter writer, long ageNs) {
        int needed = Integer.BYTES + frameLength;
        if (batchLength + needed > BATCH_BYTES && !sendCollected()) {
            return Publication.BACK_PRESSURED;
        }
        reserve(batch, Math.max(BATCH_BYTES, batchLength + needed));
        writeFrame(writer, ageNs, batch, batchLength + Integer.BYTES);
        LinkFrames.encodeLength(frameLength, batch, batchLength);
        batchLength += needed;
        return 1;
    }

    /** True if nothing is left. */
    private boolean sendCollected() {
        if (!sendRest()) {
            return false;
        }
        if (batchLength > 0) {
            reserve(rest, batchLength + FrameSeal.OVERHEAD_BYTES);
            seal.renewIfOld(links.nowNs());
            restLength = seal.seal(batch.byteArray(), batchLength, rest);
            batchLength = 0;
        }
        return sendRest();
    }

    /** True if nothing is left. */
    private boolean sendRest() {
        int most = publication.maxPayloadLength();
        if (restAt == 0 && restLength > 0 && restLength <= most) {
            if (tryClaim(restLength) <= 0) {
                return false;
            }
            claim.buffer().putBytes(claim.offset(), rest, 0, restLength);
            claim.commit();
            restAt = restLength;
        }
        while (restAt < restLength) {
            int size = Math.min(restLength - restAt, most - LinkFrames.HEADER_BYTES);
            if (tryClaim(LinkFrames.HEADER_BYTES + size) <= 0) {
                return false;
            }
            int which = (restAt == 0 ? LinkFrames.FIRST : 0) | (restAt + size == restLength ? LinkFrames.LAST : 0);
            LinkFrames.encodePartHeader(which, restLength, claim.buffer(), claim.offset());
            claim.buffer().putBytes(claim.offset() + LinkFrames.HEADER_BYTES, rest, restAt, size);
            claim.commit();
            restAt += size;
        }
        restAt = 0;
        restLength = 0;
        return true;
    }

    private static void reserve(UnsafeBuffer buffer, int bytes) {
        if (buffer.capacity() < bytes) {
            byte[] larger = new byte[BitUtil.findNextPositivePowerOfTwo(bytes)];
            buffer.getBytes(0, larger, 0, buffer.capacity());
            buffer.wrap(larger);
        }
    }

    private long tryClaim(int frameLength) {
        long position = Publication.ADMIN_ACTION;
        for (int i = 0; i < ADMIN_TRIES && position == Publication.ADMIN_ACTION; i++) {
            position = publication.tryClaim(frameLength, claim);
        }
        return position;
    }

    private void writeClaimed(BodyWriter writer, long ageNs) {
        boolean written = false;
        try {
            writeFrame(writer, ageNs, claim.buffer(), claim.offset());
            written = true;
        } finally {
            // A claim that is left open would stop the stream.
            if (written) {
                claim.commit();
            } else {
                claim.abort();
            }
        }
    }

    private static void writeFrame(BodyWriter writer, long ageNs, MutableDirectBuffer to, int at) {
        LinkFrames.encodeDataHeader(ageNs, to, at);
        writer.write(to, at + LinkFrames.DATA_HEADER_BYTES);
    }

    private boolean enter() {
        if (!open) {
            count(refusedNotConnected);
            return false;
        }
        if (!publicationInUse.compareAndSet(false, true)) {
            count(refusedBusy);
            waitForRoom();
            return false;
        }
        if (!open) {
            publicationInUse.set(false);
            count(refusedNotConnected);
            return false;
        }
        return true;
    }

    private boolean counted(long position, int length) {
        if (position > 0) {
            count(sent);
            sentBytes.lazySet(sentBytes.get() + length);
            return true;
        }
        if (position == Publication.BACK_PRESSURED) {
            count(refusedBackPressure);
            waitForRoom();
        } else if (position == Publication.ADMIN_ACTION) {
            count(refusedBusy);
            waitForRoom();
        } else {
            count(refusedNotConnected);
        }
        return false;
    }

    private void waitForRoom() {
        waitingForRoom = true;
        links.ring();
    }

    long sent() {
        return sent.get();
    }

    long sentBytes() {
        return sentBytes.get();
    }

    long refusedBackPressure() {
        return refusedBackPressure.get();
    }

    long refusedNotConnected() {
        return refusedNotConnected.get();
    }

    long refusedBusy() {
        return refusedBusy.get();
    }

    /** Each counter has one writer, so it needs no read-modify-write that is atomic. */
    static void count(AtomicLong counter) {
        counter.lazySet(counter.get() + 1);
    }

    /** Writes a body that is there already; one object, so that nothing is allocated for it. */
    private static final class Copy implements BodyWriter {
        private DirectBuffer body;
        private int at;
        private int length;

        @Override
        public void write(MutableDirectBuffer to, int offset) {
            to.putBytes(offset, body, at, length);
        }
    }
}
