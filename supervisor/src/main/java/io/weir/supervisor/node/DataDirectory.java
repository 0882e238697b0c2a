package io.weir.supervisor.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A broker's own directory, held by an exclusive lock for as long as the process lives. The operating system drops the
 * lock with the process, so whoever gets it knows that the earlier process is dead; the incarnation that process had
 * stands in the locked file itself, and is read and written through the locking channel only.
 */
public final class DataDirectory implements AutoCloseable {
    private static final int MAX_DIGITS = 20;

    private final Path directory;
    private final FileChannel channel;
    private final FileLock lock;

    private DataDirectory(Path directory, FileChannel channel, FileLock lock) {
        this.directory = directory;
        this.channel = channel;
        this.lock = lock;
    }

    public static DataDirectory lock(Path directory) {
        Path file = directory.resolve("lock");
        FileChannel channel = null;
        try {
            Files.createDirectories(directory);
            channel = FileChannel.open(
                    file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
            FileLock lock = channel.tryLock();
            if (lock != null) {
                return new DataDirectory(directory, channel, lock);
            }
        } catch (OverlappingFileLockException e) {
            // Held by this very process: as taken as by another.
        } catch (IOException e) {
            throw new StartException("the data directory " + directory + " can't be used (" + e
                    + "): does this user have the rights to write there?");
        }
        closeQuietly(channel);
        throw new StartException("the data directory " + directory
                + " is in use by another broker process: stop that one, or give this broker a directory of its own");
    }

    /** The incarnation that the last process here wrote, or 0. */
    public long lastIncarnation() {
        try {
            ByteBuffer buffer = ByteBuffer.allocate(MAX_DIGITS);
            channel.read(buffer, 0);
            String text = new String(buffer.array(), 0, buffer.position(), StandardCharsets.US_ASCII).strip();
            return text.isEmpty() ? 0 : Long.parseLong(text);
        } catch (IOException | NumberFormatException e) {
            throw new StartException("the lock file in " + directory + " can't be read (" + e.getMessage()
                    + "): remove it if no broker uses this directory");
        }
    }

    public void writeIncarnation(long incarnation) {
        try {
            channel.truncate(0);
            channel.write(ByteBuffer.wrap((incarnation + "\n").getBytes(StandardCharsets.US_ASCII)), 0);
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
            closeQuietly(channel);
        }
    }

    private static void closeQuietly(FileChannel channel) {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException e) {
            throw new IllegalStateException("a lock file can't be closed", e);
        }
    }
}
