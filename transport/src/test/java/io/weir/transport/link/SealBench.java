package io.weir.transport.link;

import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.UnsafeBuffer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What sealing the frames of one turn costs the sender, and sender and receiver together. 144 bytes is one message of
 * 100 bytes; 1,400 are about a datagram; 16 KiB are the most that is sealed together, a hundred such messages.
 * {@code mvn -Pquick,seal-bench -pl transport -am test} runs it.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class SealBench {
    private static final byte[] SECRET = new byte[32];

    @Param({"144", "1400", "16384"})
    private int bytes;

    private final FrameSeal seal = new FrameSeal(SECRET, "a#1>b#1", 1, 0);
    private final FrameSeal sealForOpener = new FrameSeal(SECRET, "a#1>b#1", 2, 0);
    private final FrameSeal opener = new FrameSeal(SECRET, "a#1>b#1", 2, 0);
    private final byte[] plain = new byte[32 * 1024];
    private final byte[] opened = new byte[32 * 1024];
    private final UnsafeBuffer sealed = new UnsafeBuffer(new byte[32 * 1024]);

    @Benchmark
    public int seal() {
        return seal.seal(plain, bytes, sealed);
    }

    @Benchmark
    public int sealAndOpen() {
        int length = sealForOpener.seal(plain, bytes, sealed);
        int inside = opener.open(sealed.byteArray(), sealed, length, opened);
        if (inside != bytes) {
            throw new IllegalStateException(bytes + " bytes were sealed, and " + inside + " opened");
        }
        return inside;
    }
}
