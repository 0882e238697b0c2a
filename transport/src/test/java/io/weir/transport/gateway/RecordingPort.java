package io.weir.transport.gateway;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** A broker of one channel: what is published goes to its one consumer, as far as that has credit and room. */
public final class RecordingPort implements MessagePort {
    /** A message as it was published. */
    record Published(String topic, byte[] body) {}

    final BlockingQueue<Published> published = new LinkedBlockingQueue<>();
    /** What other threads want done on the loop's. */
    public final Queue<Runnable> work = new ConcurrentLinkedQueue<>();

    private final ArrayDeque<Published> waiting = new ArrayDeque<>();
    private Subscriber consumer;
    private int credit;
    private int inFlight;
    private long nextId = 1;
    volatile int finished;

    @Override
    public boolean publish(PublishRequest request, long nowNs) {
        String topic = CommandDecoder.text(request.in(), request.topicAt(), request.topicLength());
        int at = request.bodyAt();
        if (request.messages() == 0) {
            take(topic, request.in(), at, request.bodyLength());
        }
        for (int i = 0; i < request.messages(); i++) {
            take(topic, request.in(), at + 4, request.lengthAt(at));
            at += 4 + request.lengthAt(at);
        }
        request.publisher().accepted(request.ticket());
        handOut();
        return true;
    }

    private void take(String topic, ByteBuffer in, int at, int length) {
        byte[] body = new byte[length];
        in.get(at, body);
        published.add(new Published(topic, body));
        waiting.add(new Published(topic, body));
    }

    private void handOut() {
        boolean taken = true;
        while (taken && consumer != null && inFlight < credit && !waiting.isEmpty()) {
            byte[] body = waiting.peek().body();
            taken = consumer.deliver(1, 1, nextId, ByteBuffer.wrap(body), 0, body.length);
            if (taken) {
                nextId++;
                inFlight++;
                waiting.poll();
            }
        }
    }

    @Override
    public Subscription subscribe(Subscriber subscriber, String topic, String channel, long timeoutNs, long nowNs) {
        if (channel.equals("full")) {
            return null;
        }
        consumer = subscriber;
        return new Subscription() {
            @Override
            public void ready(int messages, long atNs) {
                credit = messages;
                handOut();
            }

            @Override
            public boolean finish(long id, long atNs) {
                if (id >= nextId || inFlight == 0) {
                    return false;
                }
                inFlight--;
                finished++;
                handOut();
                return true;
            }

            @Override
            public boolean requeue(long id, long delayNs, long atNs) {
                return false;
            }

            @Override
            public boolean touch(long id, long atNs) {
                return false;
            }

            @Override
            public int inFlight() {
                return inFlight;
            }

            @Override
            public void writable(long atNs) {
                handOut();
            }

            @Override
            public void close(long atNs) {
                consumer = null;
            }
        };
    }

    @Override
    public int doWork(long nowNs) {
        Runnable next = work.poll();
        while (next != null) {
            next.run();
            next = work.poll();
        }
        return 0;
    }

    @Override
    public long nextDeadlineNs() {
        return NO_DEADLINE;
    }
}
