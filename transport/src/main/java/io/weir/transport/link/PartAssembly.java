package io.weir.transport.link;

import java.nio.ByteBuffer;
import org.agrona.BitUtil;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Puts the parts of a long frame together, in bytes outside the heap like the streams': whoever reads a frame finds a
 * ByteBuffer under it. What it reserves grows with what has come, whatever length a first part claims.
 */
final class PartAssembly {
    /** What a part has led to. */
    enum State {
        /** More parts have to come. */
        PARTIAL,
        /** The frame is whole. */
        WHOLE,
        /** It fits no frame that began, or exceeds the longest. */
        WRONG,
        /** Its frame began before this end listened. */
        UNBEGUN
    }

    private final UnsafeBuffer frame = new UnsafeBuffer(ByteBuffer.allocateDirect(0));
    private final int maxFrameBytes;
    private int frameLength;
    private int length;
    private boolean begun;

    PartAssembly(int maxFrameBytes) {
        this.maxFrameBytes = maxFrameBytes;
    }

    /** The frame that is not whole will not be. */
    void reset() {
        begun = false;
    }

    State add(DirectBuffer part, int offset, int partLength) {
        if (LinkFrames.isFirst(part, offset)) {
            begun = true;
            length = 0;
            frameLength = LinkFrames.number(part, offset);
        }
        if (!begun) {
            return State.UNBEGUN;
        }
        int size = partLength - LinkFrames.HEADER_BYTES;
        boolean last = LinkFrames.isLast(part, offset);
        boolean fits = frameLength <= maxFrameBytes && size <= frameLength - length;
        if (!fits || last != (length + size == frameLength)) {
            begun = false;
            return State.WRONG;
        }
        reserve(length + size);
        frame.putBytes(length, part, offset + LinkFrames.HEADER_BYTES, size);
        length += size;
        begun = !last;
        return last ? State.WHOLE : State.PARTIAL;
    }

    /** The whole frame, from its start on. */
    DirectBuffer frame() {
        return frame;
    }

    int length() {
        return length;
    }

    private void reserve(int bytes) {
        if (frame.capacity() < bytes) {
            ByteBuffer larger =
                    ByteBuffer.allocateDirect(Math.min(maxFrameBytes, BitUtil.findNextPositivePowerOfTwo(bytes)));
            larger.put(0, frame.byteBuffer(), 0, length);
            frame.wrap(larger);
        }
    }
}
