package io.weir.transport.client;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Looks up hosts' addresses on threads of its own, which may take long, while everything else goes on. A host is looked
 * up once at a time, whoever asks, so that a name server that does not answer costs a thread a name. When all threads
 * are taken, a further lookup fails.
 */
final class HostLookup implements AutoCloseable {
    private static final int MOST_THREADS = 32;
    private static final int IDLE_SECONDS = 5;

    /** Where addresses come from. */
    interface Source {
        InetAddress[] addresses(String host) throws UnknownHostException;
    }

    private final Source source;
    private final Runnable whenDone;
    private final ThreadPoolExecutor threads;
    private final ConcurrentHashMap<String, CompletableFuture<InetAddress[]>> underWay = new ConcurrentHashMap<>();

    /** @param whenDone runs after every lookup, on the lookup's thread */
    HostLookup(Source source, Runnable whenDone, ThreadFactory factory) {
        this.source = source;
        this.whenDone = whenDone;
        threads = new ThreadPoolExecutor(
                0, MOST_THREADS, IDLE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(), factory);
    }

    /**
     * At least one address, or a failure. Nobody may complete what this returns, nor chain anything to it: others have
     * it too.
     */
    CompletableFuture<InetAddress[]> addresses(String host) {
        CompletableFuture<InetAddress[]> fresh = new CompletableFuture<>();
        CompletableFuture<InetAddress[]> present = underWay.putIfAbsent(host, fresh);
        if (present != null) {
            return present;
        }
        try {
            threads.execute(() -> lookUp(host, fresh));
        } catch (RejectedExecutionException e) {
            underWay.remove(host);
            fresh.completeExceptionally(
                    new UnknownHostException(host + ": " + MOST_THREADS + " other lookups are not answered"));
        }
        return fresh;
    }

    private void lookUp(String host, CompletableFuture<InetAddress[]> result) {
        try {
            InetAddress[] found = source.addresses(host);
            if (found.length == 0) {
                throw new UnknownHostException(host + ": no address");
            }
            underWay.remove(host);
            result.complete(found);
        } catch (UnknownHostException | RuntimeException e) {
            underWay.remove(host);
            result.completeExceptionally(e);
        }
        whenDone.run();
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
