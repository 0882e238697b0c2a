package io.weir.cluster.failpoints.armed;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class DivertedCallsTest {
    private static final long HOUR_MS = 3_600_000;

    /** Has constants of every size in its pool, and asks both ways: by a call and by a method's handle. */
    static final class Asks implements LongSupplier {
        static final long LONG = 0x1234_5678_9abcL;
        static final double DOUBLE = 1.5;

        @Override
        public long getAsLong() {
            LongSupplier handle = System::currentTimeMillis;
            long apart = handle.getAsLong() - System.currentTimeMillis();
            return System.currentTimeMillis() + (Math.abs(apart) > HOUR_MS / 2 ? LONG : 0) + (long) (DOUBLE - 1.5);
        }
    }

    static final class AsksNothing {
        @Override
        public String toString() {
            return "nothing " + System.nanoTime();
        }
    }

    private static final class Loader extends ClassLoader {
        Loader() {
            super(DivertedCallsTest.class.getClassLoader());
        }

        Class<?> define(byte[] classFile) {
            return defineClass(null, classFile, 0, classFile.length);
        }
    }

    @AfterEach
    void setRight() {
        WallClock.set(0);
    }

    @Test
    void shouldAskTheOtherClockWhenCallsAreDiverted() throws Exception {
        byte[] diverted = DivertedCalls.of(
                classFile(Asks.class), WallClock.class.getName().replace('.', '/'));
        var constructor = new Loader().define(diverted).getDeclaredConstructor();
        constructor.setAccessible(true);
        LongSupplier asks = (LongSupplier) constructor.newInstance();

        WallClock.set(-5 * HOUR_MS);
        assertThat(asks.getAsLong() - System.currentTimeMillis()).isBetween(-6 * HOUR_MS, -4 * HOUR_MS);
        WallClock.set(30 * HOUR_MS);
        assertThat(asks.getAsLong() - System.currentTimeMillis()).isBetween(29 * HOUR_MS, 31 * HOUR_MS);
        WallClock.set(0);
        assertThat(asks.getAsLong() - System.currentTimeMillis()).isBetween(-HOUR_MS, HOUR_MS);
    }

    @Test
    void shouldLeaveAClassAloneWhenItDoesNotAsk() throws IOException {
        assertThat(DivertedCalls.of(classFile(AsksNothing.class), "a/B")).isNull();
    }

    private static byte[] classFile(Class<?> of) throws IOException {
        try (InputStream in =
                of.getResourceAsStream(of.getName().substring(of.getName().lastIndexOf('.') + 1) + ".class")) {
            return in.readAllBytes();
        }
    }
}
