package io.weir.topics.federation;

import io.weir.transport.gateway.Subscriber;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;

/** Takes one message, and keeps its context and body. */
final class OneTaker implements Subscriber {
    final CompletableFuture<String> taken = new CompletableFuture<>();

    @Override
    public boolean deliver(long timestampNs, int attempts, long id, ByteBuffer body, int bodyAt, int bodyLength) {
        return deliver(timestampNs, attempts, id, body, bodyAt, 0, bodyAt, bodyLength);
    }

    @Override
    public boolean deliver(
            long timestampNs,
            int attempts,
            long id,
            ByteBuffer in,
            int contextAt,
            int contextLength,
            int bodyAt,
            int bodyLength) {
        taken.complete(text(in, contextAt, contextLength) + "/" + text(in, bodyAt, bodyLength));
        return true;
    }

    private static String text(ByteBuffer in, int at, int length) {
        byte[] bytes = new byte[length];
        in.get(at, bytes);
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    @Override
    public void gone(String reason) {
        taken.completeExceptionally(new IllegalStateException(reason));
    }
}
