package io.weir.transport.link;

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Publication;
import io.aeron.logbuffer.BufferClaim;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * What goes out on a link: its publication, and who may use it when. The broker's thread offers without the
 * {@link LinkLock}; all else but {@link #hasRoomAgain} happens in it.
 */
final class LinkSender {
    private static final long NONE = Aeron.NULL_VALUE;
    /** Between two terms Aeron refuses once and takes the next offer; a second refusal in a row is rare. */
    private static final int ADMIN_TRIES = 3;

    private final Links links;
    private final String channel;
    private final int stream;
    private final long roomBytes;

    /** Held by whoever uses or closes the publication: its memory is unmapped when the client closes. */
    private final AtomicBoolean publicationInUse = new AtomicBoolean();

    private final BufferClaim claim = new BufferClaim();
    private final UnsafeBuffer dataHeader = new UnsafeBuffer(new byte[LinkFrames.DATA_HEADER_BYTES]);
    private final UnsafeBuffer helloFrame = new UnsafeBuffer(new byte[LinkFrames.MAX_HELLO_BYTES]);
    private ExclusivePublication publication;
    private long publicationId = NONE;
    private long sentAtLastLook;
    private volatile boolean open;
    private volatile boolean waitingForRoom;

    private final AtomicLong sent = new AtomicLong();
    private final AtomicLong sentBytes = new AtomicLong();
    private final AtomicLong refusedBackPressure = new AtomicLong();
    private final AtomicLong refusedNotConnected = new AtomicLong();
    private final AtomicLong refusedBusy = new AtomicLong();

    LinkSender(String channel, int stream, LinkSettings settings, Links links) {
        this.channel = channel;
        this.stream = stream;
        this.links = links;
        // A quarter of the window, which is half a term: who waits for room then finds enough for a batch.
        roomBytes = settings.termBytes() / 8;
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
            int length = LinkFrames.encodeHello(hello, helloFrame, 0);
            return publication.offer(helloFrame, 0, length) > 0;
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
            if (publication == null || publication.availableWindow() < roomBytes) {
                return false;
            }
        } finally {
            publicationInUse.set(false);
        }
        waitingForRoom = false;
        return true;
    }

    boolean offer(DirectBuffer body, int offset, int length, long ageNs) {
        if (!enter()) {
            return false;
        }
        try {
            int frameLength = LinkFrames.DATA_HEADER_BYTES + length;
            if (frameLength > publication.maxPayloadLength()) {
                return counted(offerFragmented(body, offset, length, ageNs), length);
            }
            long position = tryClaim(frameLength);
            if (position > 0) {
                LinkFrames.encodeDataHeader(ageNs, claim.buffer(), claim.offset());
                claim.buffer().putBytes(claim.offset() + LinkFrames.DATA_HEADER_BYTES, body, offset, length);
                claim.commit();
            }
            return counted(position, length);
        } finally {
            publicationInUse.set(false);
        }
    }

    /** As above for a body that is not written yet; {@code scratch} takes it first if it is longer than a fragment. */
    boolean offer(int length, BodyWriter writer, long ageNs, UnsafeBuffer scratch) {
        if (!enter()) {
            return false;
        }
        try {
            int frameLength = LinkFrames.DATA_HEADER_BYTES + length;
            if (frameLength <= publication.maxPayloadLength()) {
                long position = tryClaim(frameLength);
                if (position > 0) {
                    writeClaimed(writer, ageNs);
                }
                return counted(position, length);
            }
        } finally {
            publicationInUse.set(false);
        }
        writer.write(scratch, 0);
        return offer(scratch, 0, length, ageNs);
    }

    private long tryClaim(int frameLength) {
        long position = Publication.ADMIN_ACTION;
        for (int i = 0; i < ADMIN_TRIES && position == Publication.ADMIN_ACTION; i++) {
            position = publication.tryClaim(frameLength, claim);
        }
        return position;
    }

    private long offerFragmented(DirectBuffer body, int offset, int length, long ageNs) {
        LinkFrames.encodeDataHeader(ageNs, dataHeader, 0);
        long position = Publication.ADMIN_ACTION;
        for (int i = 0; i < ADMIN_TRIES && position == Publication.ADMIN_ACTION; i++) {
            position = publication.offer(dataHeader, 0, LinkFrames.DATA_HEADER_BYTES, body, offset, length, null);
        }
        return position;
    }

    private void writeClaimed(BodyWriter writer, long ageNs) {
        boolean written = false;
        try {
            LinkFrames.encodeDataHeader(ageNs, claim.buffer(), claim.offset());
            writer.write(claim.buffer(), claim.offset() + LinkFrames.DATA_HEADER_BYTES);
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
}
