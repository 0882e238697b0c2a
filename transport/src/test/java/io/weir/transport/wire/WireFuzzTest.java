package io.weir.transport.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.transport.Sessions;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.Deflater;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compressed streams, whole ones and such that chance has changed, through the layers in pieces of any size. */
class WireFuzzTest {
    private static final int ROUNDS = 400;
    private static final long MOST_BYTES = 128L << 20;

    private final SnappyBlocks blocks = new SnappyBlocks();
    private final Buffers buffers = new Buffers(16 * 1024, MOST_BYTES, what -> {});
    private final Purse purse = buffers.purse();

    /** The far end as bytes in memory; gives and takes as much at a time as chance says. */
    private static final class Memory implements Wire {
        private final ByteBuffer input;
        private final ByteArrayOutputStream output = new ByteArrayOutputStream();
        private final Random random;
        private final int step;

        private Memory(byte[] input, Random random, int step) {
            this.input = ByteBuffer.wrap(input);
            this.random = random;
            this.step = step;
        }

        @Override
        public int read(ByteBuffer to) {
            if (!input.hasRemaining()) {
                return -1;
            }
            int count = Math.min(Math.min(to.remaining(), input.remaining()), random.nextInt(step + 1));
            to.put(input.slice(input.position(), count));
            input.position(input.position() + count);
            return count;
        }

        @Override
        public int write(ByteBuffer from) {
            int count = Math.min(from.remaining(), random.nextInt(step + 1));
            for (int i = 0; i < count; i++) {
                output.write(from.get());
            }
            return count;
        }

        @Override
        public boolean hasInput() {
            return false;
        }

        @Override
        public boolean hasOutput() {
            return false;
        }

        @Override
        public void finish() {
            input.position(input.limit());
        }

        @Override
        public void close() {
            // Nothing to let go of.
        }
    }

    private Wire layer(String kind, Wire below, byte[] early) throws IOException {
        if (kind.equals("snappy")) {
            return new SnappyWire(below, blocks, purse, early);
        }
        assertThat(purse.reserve(DeflateWire.NATIVE_BYTES)).isTrue();
        return new DeflateWire(below, 6, purse, early);
    }

    /** What a layer holds that is through with everything: nothing but what waits for the next one. */
    private void assertNothingIsHeld() {
        assertThat(buffers.bytes()).isLessThan(1 << 20);
    }

    private byte[] compressed(String kind, byte[] plain, Random random) throws IOException {
        Memory memory = new Memory(new byte[0], random, random.nextInt(5_000) + 1);
        Wire wire = layer(kind, memory, new byte[0]);
        ByteBuffer from = ByteBuffer.allocateDirect(plain.length).put(plain).flip();
        while (from.hasRemaining() || wire.hasOutput()) {
            wire.write(from);
        }
        wire.close();
        return memory.output.toByteArray();
    }

    /** What is read, and behind it how it ended. */
    private String read(String kind, byte[] stream, Random random, int step, int room) throws IOException {
        int early = random.nextBoolean() ? 0 : Math.min(stream.length, random.nextInt(50));
        Memory memory = new Memory(Arrays.copyOfRange(stream, early, stream.length), random, step);
        Wire wire = layer(kind, memory, Arrays.copyOf(stream, early));
        ByteArrayOutputStream plain = new ByteArrayOutputStream();
        ByteBuffer to = ByteBuffer.allocateDirect(room);
        String outcome = null;
        while (outcome == null) {
            try {
                to.clear();
                int count = wire.read(to);
                to.flip();
                byte[] got = new byte[to.remaining()];
                to.get(got);
                plain.writeBytes(got);
                outcome = count < 0 ? "ended" : null;
            } catch (IOException e) {
                // Bytes of the same read that came before the fault are lost with the connection.
                outcome = "failed";
            }
        }
        wire.close();
        return outcome.equals("failed") ? outcome : Arrays.hashCode(plain.toByteArray()) + " " + plain.size();
    }

    @ParameterizedTest
    @ValueSource(strings = {"snappy", "deflate"})
    void shouldReadWhatWasWrittenAndFailAlikeHoweverItIsCut(String kind) throws IOException {
        long seed = Long.getLong("weir.fuzz.seed", 20_262);
        Sessions sessions = new Sessions(seed);
        int failed = 0;
        for (int round = 0; round < ROUNDS; round++) {
            String what = "seed " + seed + ", round " + round;
            byte[] plain = sessions.valid(round % 50 == 0 ? 100_000 : 2_000);
            byte[] stream = compressed(kind, plain, sessions.random());
            assertThat(read(kind, stream, sessions.random(), 5_000, 3_000))
                    .as(what)
                    .isEqualTo(Arrays.hashCode(plain) + " " + plain.length);
            byte[] changed = sessions.mutated(stream);
            String whole = read(kind, changed, sessions.random(), 1 << 20, 1 << 16);
            assertThat(read(kind, changed, sessions.random(), 64, 16 * 1024))
                    .as(what)
                    .isEqualTo(whole);
            failed += whole.equals("failed") ? 1 : 0;
        }
        assertThat(failed).as("seed " + seed).isGreaterThan(ROUNDS / 4);
        assertNothingIsHeld();
    }

    @Test
    void shouldHoldNoMoreThanItsReaderAsksForWhenASmallStreamBecomesAHugeOne() throws IOException {
        Deflater deflater = new Deflater(9, true);
        ByteArrayOutputStream bomb = new ByteArrayOutputStream();
        byte[] zeros = new byte[1 << 20];
        byte[] piece = new byte[1 << 16];
        for (int i = 0; i < 64; i++) {
            deflater.setInput(zeros);
            int count = deflater.deflate(piece, 0, piece.length, Deflater.SYNC_FLUSH);
            bomb.write(piece, 0, count);
        }
        deflater.end();
        assertThat(bomb.size()).isLessThan(128 * 1024);
        Wire wire = layer("deflate", new Memory(bomb.toByteArray(), new Random(1), 1 << 20), new byte[0]);
        ByteBuffer to = ByteBuffer.allocate(16 * 1024);
        long all = 0;
        int count = wire.read(to);
        while (count >= 0) {
            assertThat(count).isLessThanOrEqualTo(to.capacity());
            all += count;
            count = wire.read(to.clear());
        }
        wire.close();
        assertThat(all).isEqualTo(64L << 20);
    }

    @Test
    void shouldSkipSnappyPaddingThatComesInPiecesWithQuietInBetween() throws IOException {
        Random random = new Random(1);
        byte[] plain = {1, 2, 3};
        byte[] stream = compressed("snappy", plain, random);
        int head = 10;
        byte[] padded = new byte[stream.length + 4 + 20_000];
        System.arraycopy(stream, 0, padded, 0, head);
        ByteBuffer.wrap(padded, head, 4).put((byte) 0xfe).put((byte) 0x20).put((byte) 0x4e);
        System.arraycopy(stream, head, padded, head + 4 + 20_000, stream.length - head);
        Wire wire = layer("snappy", new Memory(padded, random, 100), new byte[0]);
        ByteBuffer to = ByteBuffer.allocate(100);
        int count = wire.read(to);
        while (count >= 0) {
            count = wire.read(to);
        }
        assertThat(Arrays.copyOf(to.array(), to.position())).isEqualTo(plain);
    }

    @Test
    void shouldRefuseSnappyThatClaimsMoreThanAChunkMayHold() throws IOException {
        byte[] head = {(byte) 0xff, 6, 0, 0, 's', 'N', 'a', 'P', 'p', 'Y'};
        // A block that says it becomes 2 GiB less one byte.
        byte[] claim = {0, 10, 0, 0, 0, 0, 0, 0, (byte) 0xff, (byte) 0xff, (byte) 0xff, (byte) 0xff, 7, 0};
        // A chunk of 16 MiB.
        byte[] large = {1, (byte) 0xff, (byte) 0xff, (byte) 0xff};
        for (byte[] rest :
                new byte[][] {claim, large, {2, 1, 0, 0, 0}, {(byte) 0xff, 6, 0, 0, 'S', 'N', 'a', 'P', 'p', 'Y'}}) {
            byte[] stream = Arrays.copyOf(head, head.length + rest.length);
            System.arraycopy(rest, 0, stream, head.length, rest.length);
            Wire wire = layer("snappy", new Memory(stream, new Random(1), 100), new byte[0]);
            assertThatThrownBy(() -> readAll(wire)).isInstanceOf(IOException.class);
        }
        Wire unnamed = layer("snappy", new Memory(new byte[] {0, 5, 0, 0}, new Random(1), 100), new byte[0]);
        assertThatThrownBy(() -> readAll(unnamed)).isInstanceOf(IOException.class);
    }

    /** Padding, and blocks of nothing: a client may send them for ever, and others must have their turn. */
    @ParameterizedTest
    @ValueSource(strings = {"snappy", "deflate"})
    void shouldGiveOthersTheirTurnWhenNothingComesOfWhatComes(String kind) throws IOException {
        byte[] nothing = kind.equals("snappy")
                ? new byte[] {(byte) 0xfe, 0, 0, 0}
                : new byte[] {0, 0, 0, (byte) 0xff, (byte) 0xff};
        ByteBuffer stream = ByteBuffer.allocate(2 << 20);
        if (kind.equals("snappy")) {
            stream.put(compressed(kind, new byte[1], new Random(1)), 0, 10);
        }
        while (stream.remaining() >= nothing.length) {
            stream.put(nothing);
        }
        Memory memory = new Memory(Arrays.copyOf(stream.array(), stream.position()), new Random(1), 1 << 20);
        Wire wire = layer(kind, memory, new byte[0]);
        ByteBuffer to = ByteBuffer.allocate(100);
        int turns = 0;
        while (memory.input.remaining() > 2 * Wire.FRUITLESS_BYTES) {
            int before = memory.input.position();
            assertThat(wire.read(to)).isZero();
            assertThat(memory.input.position() - before).isLessThan(2 * Wire.FRUITLESS_BYTES);
            turns++;
        }
        assertThat(turns).isGreaterThan(12);
        wire.close();
        assertNothingIsHeld();
    }

    @Test
    void shouldHoldNoMoreOfASnappyChunkThanHasComeOfIt() throws IOException {
        byte[] begun = {(byte) 0xff, 6, 0, 0, 's', 'N', 'a', 'P', 'p', 'Y', 1, 0, 0, 1, 1, 2, 3};
        for (int i = 0; i < 1_000; i++) {
            // All but what is missing of the chunk comes.
            Wire wire = layer("snappy", new Memory(begun, new Random(i), 20), new byte[0]);
            readAll(wire);
        }
        assertThat(buffers.bytes()).isLessThan(1_000 * 10_000);
    }

    @Test
    void shouldFailWhatNeedsMoreMemoryThanThereIs() throws IOException {
        while (purse.reserve(1 << 20)) {
            assertThat(buffers.bytes()).isLessThan(MOST_BYTES);
        }
        assertThatThrownBy(() -> readAll(new SnappyWire(
                        new Memory(new byte[0], new Random(1), 1), blocks, purse, new byte[(2 << 20) - 1])))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("no memory");
    }

    private static void readAll(Wire wire) throws IOException {
        ByteBuffer to = ByteBuffer.allocate(1_000);
        int count = wire.read(to);
        while (count >= 0) {
            count = wire.read(to.clear());
        }
    }
}
