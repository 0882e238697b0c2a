package io.weir.supervisor.local;

import io.weir.supervisor.local.LocalCluster.Progress;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URL;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Tells living brokers that a life of another one is over, until one of them has written it down: a broker has the
 * store's connection and hears when the store is away, so whoever gives notice needs neither. As {@code weir broker
 * confirm-stopped} does, with the same route.
 */
final class StopNotice {
    private static final String HOST = "127.0.0.1";
    private static final int OK = 200;
    private static final int UNAVAILABLE = 503;
    private static final int NO_ANSWER = 0;
    private static final int CONNECT_MS = 500;
    /** A broker answers within its time-out for a statement, or never. */
    private static final int ANSWER_MS = 5_000;

    private static final long FIRST_WAIT_MS = 50;
    private static final long MOST_WAIT_MS = 2_000;
    /** Asked side by side, so that one that stands still delays nobody; more would only write the same row again. */
    private static final int AT_ONCE = 3;

    private final Supplier<ClusterState> state;
    private final Optional<String> adminToken;
    private final Progress log;
    /** At most one thread for each broker that died, and those that it asks with. */
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "weir-stop-notice");
        thread.setDaemon(true);
        return thread;
    });

    StopNotice(Supplier<ClusterState> state, Optional<String> adminToken, Progress log) {
        this.state = state;
        this.adminToken = adminToken;
        this.log = log;
    }

    /** Returns at once. */
    void give(String broker, long incarnation) {
        threads.execute(() -> untilHeard(broker, incarnation));
    }

    private void untilHeard(String broker, long incarnation) {
        String life = broker + "#" + incarnation;
        long fromNs = System.nanoTime();
        long waitMs = FIRST_WAIT_MS;
        int turn = 0;
        int answer = tell(broker, incarnation, turn);
        while (answer == NO_ANSWER || answer == UNAVAILABLE) {
            if (turn == 0) {
                log.say("nobody could write down yet that " + life + " has stopped ("
                        + (answer == NO_ANSWER ? "no broker answers" : "the store does not answer them")
                        + "); it is tried until one can");
            }
            try {
                TimeUnit.MILLISECONDS.sleep(waitMs);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
            waitMs = Math.min(MOST_WAIT_MS, 2 * waitMs);
            turn++;
            answer = tell(broker, incarnation, turn);
        }
        long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - fromNs);
        log.say(
                answer == OK
                        ? life + " is written down as stopped after " + tookMs + " ms; the others inherit what it held"
                        : "the brokers do not accept that " + life + " has stopped (HTTP status " + answer
                                + "): its part waits for its lease");
    }

    /** The best answer of those that were asked: one that has written it down is enough. */
    private int tell(String broker, long incarnation, int turn) {
        ClusterState now = state.get();
        List<String> living = now.brokerIds().stream()
                .filter(id -> !id.equals(broker) && now.isAlive(id))
                .toList();
        CompletableFuture<Integer> written = new CompletableFuture<>();
        List<CompletableFuture<Integer>> asked = living.stream()
                .skip(living.isEmpty() ? 0 : (long) turn * AT_ONCE % living.size())
                .limit(AT_ONCE)
                .map(id -> CompletableFuture.supplyAsync(
                        () -> post(now.httpPort(id), "/v1/brokers/" + broker + "/" + incarnation + "/stopped"),
                        threads))
                .toList();
        asked.forEach(each -> each.thenAccept(answer -> {
            if (answer == OK) {
                written.complete(answer);
            }
        }));
        CompletableFuture.allOf(asked.toArray(CompletableFuture[]::new))
                .thenRun(() -> written.complete(asked.stream()
                        .map(CompletableFuture::join)
                        .max(Integer::compare)
                        .orElse(NO_ANSWER)));
        return written.join();
    }

    /** The JDK's newer client would load more classes than all the rest of the keeper. */
    private int post(int port, String path) {
        try {
            HttpURLConnection call =
                    (HttpURLConnection) new URL("http", HOST, port, path).openConnection(Proxy.NO_PROXY);
            try {
                call.setRequestMethod("POST");
                call.setConnectTimeout(CONNECT_MS);
                call.setReadTimeout(ANSWER_MS);
                call.setDoOutput(true);
                call.setFixedLengthStreamingMode(0);
                adminToken.ifPresent(token -> call.setRequestProperty("Authorization", "Bearer " + token));
                call.getOutputStream().close();
                return call.getResponseCode();
            } finally {
                call.disconnect();
            }
        } catch (IOException e) {
            return NO_ANSWER;
        }
    }
}
