package io.weir.supervisor.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * A broker's own directory, held by an exclusive lock for as long as the process lives. The operating system drops the
 * lock with the process, so whoever gets it knows that the earlier process is dead; the incarnation that process had
 * stands in the locked file itself, and is read and written through the locking channel only.
 */
public final class DataDirectory implements AutoCloseable {
    private static final int MAX_LENGTH = 42;
    private static final int TRIES = 10;
    private static final long TRY_AGAIN_NS = 20_000_000;
    // POSIX drops a process's lock on a file as soon as the process closes any descriptor of that file. So a second
    // try in this process must not even open the file.
    private static final Set<Path> HELD_HERE = ConcurrentHashMap.newKeySet();

    private final Path directory;
    private final FileChannel channel;
    private final FileLock lock;

    private DataDirectory(Path directory, FileChannel channel, FileLock lock) {
        this.directory = directory;
        this.channel = channel;
        this.lock = lock;
    }

    /** Waits for a moment if another process has the lock: proving that a broker is dead takes it for an instant. */
    public static DataDirectory lock(Path directory) {
        return lock(directory, channel -> {
            FileLock lock = channel.tryLock();
            for (int again = 0; lock == null && again < TRIES; again++) {
                LockSupport.parkNanos(TRY_AGAIN_NS);
                lock = channel.tryLock();
            }
            return lock;
        });
    }

    /**
     * Waits for as long as another process has it. When this returns, no thread of that process runs any more: the
     * system drops the lock when the last of them has let go of its files, which is on its way out, an instant before
     * the process is gone.
     */
    public static DataDirectory lockWhenFree(Path directory) {
        return lock(directory, FileChannel::lock);
    }

    private interface Locking {
        FileLock on(FileChannel channel) throws IOException;
    }

    private static DataDirectory lock(Path directory, Locking locking) {
        Path file = directory.resolve("lock");
        FileChannel channel = null;
        Path held = null;
        try {
            Files.createDirectories(directory);
            Path real = directory.toRealPath();
            if (!HELD_HERE.add(real)) {
                throw inUse(directory);
            }
            held = real;
            channel = FileChannel.open(
                    file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
            FileLock lock = locking.on(channel);
            if (lock != null) {
                return new DataDirectory(real, channel, lock);
            }
        } catch (IOException e) {
            release(held, channel);
            throw new StartException("the data directory " + directory + " can't be used (" + e
                    + "): does this user have the rights to write there?");
        }
        release(held, channel);
        throw inUse(directory);
    }

    private static StartException inUse(Path directory) {
        return new StartException("the data directory " + directory
                + " is in use by another broker process: stop that one, or give this broker a directory of its own");
    }

    /** The incarnation that the last process here wrote, or 0. */
    public long lastIncarnation() {
        return read()[0];
    }

    /**
     * The incarnation in whose name the last process here held supply, or 0 if it held none, or has said that it
     * stopped.
     */
    public long lastHolder() {
        return read()[1];
    }

    public void writeIncarnation(long incarnation) {
        write(incarnation, lastHolder());
    }

    public void writeHolder(long incarnation) {
        write(lastIncarnation(), incarnation);
    }

    private long[] read() {
        try {
            ByteBuffer buffer = ByteBuffer.allocate(MAX_LENGTH);
            channel.read(buffer, 0);
            // The first line only: whoever died while writing a shorter one left the end of a longer one behind it.
            String text = new String(buffer.array(), 0, buffer.position(), StandardCharsets.US_ASCII)
                    .lines()
                    .findFirst()
                    .orElse("")
                    .strip();
            String[] numbers = text.split(" ");
            return new long[] {
                text.isEmpty() ? 0 : Long.parseLong(numbers[0]), numbers.length < 2 ? 0 : Long.parseLong(numbers[1])
            };
        } catch (IOException | NumberFormatException e) {
            throw new StartException("the lock file in " + directory + " can't be read (" + e.getMessage()
                    + "): remove it if no broker uses this directory");
        }
    }

    private void write(long incarnation, long holder) {
        try {
            byte[] text = (incarnation + " " + holder + "\n").getBytes(StandardCharsets.US_ASCII);
            channel.write(ByteBuffer.wrap(text), 0);
            channel.truncate(text.length);
            channel.force(true);
        } catch (IOException e) {
            throw new StartException("the incarnation can't be written to " + directory + ": " + e.getMessage());
        }
    }

    @Override
    public void close() {
        try {
            lock.release();
        } catch (IOException e) {
            throw new IllegalStateException("the lock on " + directory + " can't be released", e);
        } finally {
            release(directory, channel);
        }
    }

    private static void release(Path held, FileChannel channel) {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException e) {
            throw new IllegalStateException("a lock file can't be closed", e);
        } finally {
            if (held != null) {
                HELD_HERE.remove(held);
            }
        }
    }
}
