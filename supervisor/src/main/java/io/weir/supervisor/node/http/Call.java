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

/** One HTTP request on its way to an answer. Its body is read only if it is asked for, and never more of it than was said to be welcome. */
final class Call {
    /** Of a body that nobody wants, so much is read all the same, so that the client sees the answer and not a broken connection. */
    private static final long COURTESY_BYTES = 16L << 20;

    /** The bytes of bodies that are being read: what memory all of them together may take is bounded. */
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

    /** As nsqd reads it: whatever is given is a yes, but for false and 0. */
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
        // One byte more than is welcome, so that it is this limit that is met and not that of the whole.
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

    /** What waits for its topic's limit waits as long as the topic says, and not as long as other requests do. */
    void mayWait() {
        request.getHeader(TimeoutAccess.class)
                .ifPresent(access -> access.timeoutAccess().updateTimeout(Duration$.MODULE$.Inf()));
    }

    /** Where to go on after others' threads have done their part. */
    Executor executor() {
        return system.executionContext();
    }

    /**
     * The answer is there: a body that was not read is of no use any more, and must not stand in the next request's way. It comes first, within
     * bounds: Akka ends the connection after an answer that comes before the request's end, and who is still sending then never reads it.
     * A body that its sender holds back until it is asked for stays there.
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
