package io.weir.transport.link;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;

/** The link thread's sleep, which ends when a peer knocks at its door, or another thread of this JVM rings. */
final class Doze implements AutoCloseable {
    private final Doorbell door;
    private final Selector selector;
    private volatile boolean rung;
    private volatile boolean dozing;

    Doze(String host) {
        door = Doorbell.open(host);
        try {
            selector = Selector.open();
            door.channel().register(selector, SelectionKey.OP_READ);
        } catch (IOException e) {
            door.close();
            throw new UncheckedIOException("no selector for the links' doorbell", e);
        }
    }

    Doorbell door() {
        return door;
    }

    /** From any thread: a doze that is on ends, or the next does not begin. */
    void ring() {
        rung = true;
        if (dozing) {
            selector.wakeup();
        }
    }

    /** Whether someone rang since the last time that it was asked. */
    boolean wasRung() {
        boolean was = rung;
        if (was) {
            rung = false;
        }
        return was;
    }

    /** By the link thread: whether a peer knocked. */
    boolean doze(long atMostMs) {
        dozing = true;
        try {
            // Looked at after dozing is said: who rings later wakes the selector.
            if (!rung && selector.select(atMostMs) > 0) {
                selector.selectedKeys().clear();
                return door.answer();
            }
            return false;
        } catch (IOException e) {
            throw new UncheckedIOException("the links' doorbell failed", e);
        } finally {
            dozing = false;
        }
    }

    @Override
    public void close() {
        try {
            selector.close();
        } catch (IOException e) {
            throw new UncheckedIOException("the links' doorbell did not close", e);
        } finally {
            door.close();
        }
    }
}
