package io.weir.supervisor.store;

import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** What a test has opened, to be closed after it, the last first. */
final class Opened implements AfterEachCallback {
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();

    /** From any thread. */
    synchronized void add(AutoCloseable what) {
        opened.push(what);
    }

    @Override
    public synchronized void afterEach(ExtensionContext context) throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }
}
