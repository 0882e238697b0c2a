package io.weir.supervisor.node.http;

import akka.Done;
import akka.actor.typed.ActorSystem;
import akka.http.javadsl.model.HttpRequest;
import akka.http.javadsl.model.HttpResponse;
import akka.http.javadsl.model.Query;
import akka.http.javadsl.model.StatusCodes;
import akka.http.javadsl.model.headers.TimeoutAccess;
import akka.http.scaladsl.model.EntityStreamException;
import akka.http.scaladsl.model.EntityStreamSizeException;
import akka.http.scaladsl.model.IllegalUriException;
import io.weir.supervisor.node.Refusal;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import scala.concurrent.duration.Duration$;

/**
 * One HTTP request on its way to an answer. Its body is read only on demand, and never more of it than the route
 * allows.
 */
final class Call {
    /** So much of an unwanted body is read anyway, so that the client sees the answer and not a broken connection. */
    private static final long COURTESY_BYTES = 16L << 20;

    /** The bytes of all bodies that are being read, which are bounded together. */
    static final class Reading {
        private final AtomicLong bytes = new AtomicLong();
        private final long mostBytes;

        Reading(long mostBytes) {
            this.mostBytes = mostBytes;
        }

        private boolean begin(long more) {
            if (bytes.addAndGet(more) > mostBytes) {
                bytes.addAndGet(-more);
                return false;
            }
            return true;
        }

        private void end(long read) {
            bytes.addAndGet(-read);
        }
    }

    private final HttpRequest request;
    private final Map<String, String> path;
    private final ActorSystem<?> system;
    private final Reading reading;
    private final Duration timeout;
    private boolean bodyTaken;

    /** @param path what stands in the request's path where the route has a name */
    Call(HttpRequest request, Map<String, String> path, ActorSystem<?> system, Reading reading, Duration timeout) {
        this.request = request;
        this.path = path;
        this.system = system;
        this.reading = reading;
        this.timeout = timeout;
    }

    String path(String name) {
        return path.get(name);
    }

    Optional<String> header(String name) {
        return request.getHeader(name).map(header -> header.value());
    }

    /** The token that the caller shows. */
    Optional<String> bearer() {
        return header("Authorization")
                .filter(value -> value.regionMatches(true, 0, "Bearer ", 0, 7))
                .map(value -> value.substring(7).strip());
    }

    /** The first of that name in the query. */
    Optional<String> parameter(String name) {
        try {
            Query query = request.getUri().query();
            return query.get(name);
        } catch (IllegalUriException e) {
            throw Refusal.badRequest("INVALID_REQUEST", "the query can't be read: " + e.getMessage());
        }
    }

    /** As nsqd reads it: everything but false and 0 means yes. */
    boolean flag(String name, boolean otherwise) {
        return parameter(name)
                .map(value -> !value.equals("false") && !value.equals("0"))
                .orElse(otherwise);
    }

    /**
     * The whole body.
     *
     * @param tooLarge the code of the answer if it is more than {@code mostBytes}
     */
    CompletionStage<byte[]> body(int mostBytes, String tooLarge) {
        long length = request.entity().getContentLengthOption().orElse(mostBytes);
        if (length > mostBytes) {
            throw tooLarge(mostBytes, tooLarge);
        }
        if (!reading.begin(length)) {
            throw new Refusal(StatusCodes.SERVICE_UNAVAILABLE, "BUSY", "this broker reads too many bodies already");
        }
        bodyTaken = true;
        // One byte more than allowed, so that a larger body meets this limit first, and not the one for all bodies.
        return request.entity()
                .withSizeLimit(mostBytes)
                .toStrict(timeout.toMillis(), mostBytes + 1L, system)
                .whenComplete((read, failure) -> reading.end(length))
                .handle((read, failure) -> {
                    if (failure == null) {
                        return read.getData().toArray();
                    }
                    throw problemOf(failure, mostBytes, tooLarge);
                });
    }

    private static RuntimeException problemOf(Throwable failure, int mostBytes, String tooLarge) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        if (cause instanceof EntityStreamSizeException) {
            return tooLarge(mostBytes, tooLarge);
        }
        if (cause instanceof TimeoutException) {
            return new Refusal(StatusCodes.REQUEST_TIMEOUT, "TIMEOUT", "the body did not come in time");
        }
        if (cause instanceof EntityStreamException) {
            return Refusal.badRequest("INVALID_REQUEST", "the body can't be read");
        }
        return new CompletionException(cause);
    }

    private static Refusal tooLarge(int mostBytes, String code) {
        return new Refusal(
                StatusCodes.CONTENT_TOO_LARGE, code, "the body is too large: at most " + mostBytes + " bytes");
    }

    /** What the client gets if there is no answer in time. */
    void ifLate(HttpResponse answer) {
        request.getHeader(TimeoutAccess.class)
                .ifPresent(access -> access.timeoutAccess().updateHandler(late -> answer));
    }

    /**
     * A publication that waits for its topic's limit may wait as long as the topic allows, not only as long as other
     * requests.
     */
    void mayWait() {
        request.getHeader(TimeoutAccess.class)
                .ifPresent(access -> access.timeoutAccess().updateTimeout(Duration$.MODULE$.Inf()));
    }

    /** For what follows after another thread has answered. */
    Executor executor() {
        return system.executionContext();
    }

    /**
     * The answer is there. A body that was not read must not stand in the next request's way, so it is read first, up
     * to a bound: Akka ends the connection after an answer that comes before the request's end, and a client that is
     * still sending would never read the answer. A body that its sender holds back (Expect: 100-continue) is not asked
     * for.
     *
     * @return complete when the answer may go
     */
    CompletionStage<Done> end() {
        if (bodyTaken || header("Expect").isPresent()) {
            return CompletableFuture.completedFuture(Done.getInstance());
        }
        return request.entity()
                .withSizeLimit(COURTESY_BYTES)
                .discardBytes(system)
                .completionStage()
                .toCompletableFuture()
                .completeOnTimeout(Done.getInstance(), timeout.toMillis(), TimeUnit.MILLISECONDS)
                .exceptionally(cutShort -> Done.getInstance());
    }
}
