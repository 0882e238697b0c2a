package io.weir.cluster.failpoints.armed;

import io.weir.cluster.failpoints.Sabotage;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Path;
import java.security.ProtectionDomain;

/**
 * A wall clock that can be set while the process runs, as a Java agent: whatever the broker and its libraries ask
 * {@code System.currentTimeMillis}, they ask this class. How far it is from the truth, in milliseconds, is what the
 * file says that {@link Sabotage#WALL_CLOCK_FILE} names; it is looked at several times a second. The Java runtime
 * itself goes on with the true clock.
 *
 * <p>Libraries that fake a process's clocks from outside were tried: they also change time-outs, and a broker then
 * spins.
 */
public final class WallClock {
    private static volatile long offsetMs;

    private WallClock() {}

    /** What is called instead of the one in {@code System}. */
    public static long currentTimeMillis() {
        return System.currentTimeMillis() + offsetMs;
    }

    static void set(long newOffsetMs) {
        offsetMs = newOffsetMs;
    }

    /** Called by the JVM before the broker's main method. */
    public static void premain(String arguments, Instrumentation instrumentation) {
        String file = System.getenv(Sabotage.WALL_CLOCK_FILE);
        if (file == null || file.isBlank()) {
            return;
        }
        instrumentation.addTransformer(new Diversion());
        FollowedFile.follow(Path.of(file), "wall-clock", WallClock::set);
    }

    private static void set(String offset) {
        try {
            set(Long.parseLong(offset));
        } catch (NumberFormatException e) {
            set(0);
        }
    }

    /** Sends every class's calls here, but those of the Java runtime and this one's own. */
    private static final class Diversion implements ClassFileTransformer {
        private static final String OWN = WallClock.class.getName().replace('.', '/');

        @Override
        public byte[] transform(
                ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] classFile) {
            // The boot loader's classes can't see this one.
            return loader == null || name == null || name.startsWith(OWN) ? null : DivertedCalls.of(classFile, OWN);
        }
    }
}
