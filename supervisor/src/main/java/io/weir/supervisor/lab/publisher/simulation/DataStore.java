package io.weir.supervisor.lab.publisher.simulation;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * Where messages wait between being received and being published (section III-d): one server, on which a write
 * overtakes a waiting read but never interrupts one. A read costs a fixed access and a time for each message; messages
 * leave in the order in which they were written.
 */
final class DataStore {
    private record Write(int message, Runnable done) {}

    private final PublisherModel model;
    private final SimulatedTime time;
    private final RandomGenerator random;
    private final ArrayDeque<Write> writes = new ArrayDeque<>();
    private final ArrayDeque<Integer> stored = new ArrayDeque<>();

    private boolean busy;
    private int wanted;
    private Consumer<int[]> reader;

    DataStore(PublisherModel model, SimulatedTime time, RandomGenerator random) {
        this.model = model;
        this.time = time;
        this.random = random;
    }

    /** How many messages wait to be published. */
    int waiting() {
        return stored.size();
    }

    void write(int message, Runnable done) {
        writes.add(new Write(message, done));
        serve();
    }

    /** Reads {@code messages}, which must be there; the one publish thread has one read under way at most. */
    void read(int messages, Consumer<int[]> done) {
        if (reader != null || messages > stored.size()) {
            throw new IllegalStateException("a read of " + messages + " with " + stored.size() + " stored, and "
                    + (reader == null ? "no" : "another") + " read under way");
        }
        wanted = messages;
        reader = done;
        serve();
    }

    private void serve() {
        if (busy) {
            return;
        }
        if (!writes.isEmpty()) {
            busy = true;
            Write write = writes.poll();
            time.after((long) (random.nextExponential() * model.writeMeanNs()), () -> {
                busy = false;
                stored.add(write.message);
                write.done.run();
                serve();
            });
        } else if (reader != null) {
            busy = true;
            int[] batch = new int[wanted];
            Arrays.setAll(batch, i -> stored.remove());
            Consumer<int[]> done = reader;
            reader = null;
            time.after(model.readNs(batch.length), () -> {
                busy = false;
                done.accept(batch);
                serve();
            });
        }
    }
}
