package io.weir.topics.definition;

import io.weir.config.value.TopicName;
import io.weir.limiter.supply.actor.SupplyStore;
import io.weir.limiter.supply.value.LimitRow;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * One broker's way to the rows of topics: what its {@link Topic}s want at the same time goes to the store together, in
 * one transaction. While one is under way the others gather for the next, so nobody waits for a batch to fill. For any
 * thread.
 */
public final class TopicWriter {
    /** Of those that wait; a further one fails at once. */
    private static final int MOST_WAITING = 10_000;

    private final SupplyStore limits;
    private final Consumer<List<LimitRow>> inserted;
    private final Runnable news;
    private final Gathering<TopicName, TopicRows.Loaded> loads;
    private final Gathering<TopicRows.Change, Written> writes;

    /** What became of a change, and why versions of its limits were not inserted. */
    record Written(TopicRows.Outcome outcome, LimitInserts limits) {}

    /**
     * @param storeThreads at least two, so that one batch is read while another is written
     * @param inserted called with the first versions of limits of new names, which this broker is to mint
     * @param news called after rows were written, so that brokers look at once
     */
    public TopicWriter(
            TopicRows rows,
            SupplyStore limits,
            Executor storeThreads,
            Consumer<List<LimitRow>> inserted,
            Runnable news) {
        this.limits = limits;
        this.inserted = inserted;
        this.news = news;
        loads = new Gathering<>(rows::load, storeThreads);
        writes = new Gathering<>(changes -> write(rows, changes), storeThreads);
    }

    CompletionStage<TopicRows.Loaded> load(TopicName topic) {
        return loads.submit(topic);
    }

    CompletionStage<Written> write(TopicRows.Change change) {
        return writes.submit(change);
    }

    private List<Written> write(TopicRows rows, List<TopicRows.Change> changes) {
        List<TopicRows.Outcome> outcomes = rows.write(changes);
        List<LimitRow> first = new ArrayList<>();
        for (int i = 0; i < changes.size(); i++) {
            if (changes.get(i).isNew()) {
                Map<TopicName, Long> there = outcomes.get(i).inserted();
                changes.get(i).limits().stream()
                        .filter(row -> there.containsKey(row.topic()))
                        .forEach(row -> first.add(row.asFirst()));
            }
        }
        if (!first.isEmpty()) {
            inserted.accept(first);
        }
        if (outcomes.stream().anyMatch(outcome -> outcome.kind() == TopicRows.Kind.WRITTEN)) {
            news.run();
        }
        List<Written> written = new ArrayList<>();
        for (int i = 0; i < changes.size(); i++) {
            TopicRows.Outcome outcome = outcomes.get(i);
            written.add(new Written(outcome, inserts(changes.get(i), outcome)));
        }
        return written;
    }

    private LimitInserts inserts(TopicRows.Change change, TopicRows.Outcome outcome) {
        Map<TopicName, String> notInserted = new HashMap<>();
        for (LimitRow row : change.limits()) {
            if (outcome.kind() == TopicRows.Kind.WRITTEN && !outcome.inserted().containsKey(row.topic())) {
                notInserted.put(row.topic(), LimitInserts.whyNot(limits, row));
            }
        }
        return new LimitInserts(outcome.inserted(), notInserted);
    }

    /** Asks for many at a time what its callers ask one by one. */
    private static final class Gathering<Q, A> implements Runnable {
        private record Asked<Q, A>(Q question, CompletableFuture<A> answer) {}

        private final Function<List<Q>, List<A>> all;
        private final Executor threads;
        private final ArrayDeque<Asked<Q, A>> waiting = new ArrayDeque<>();
        private boolean asking;

        Gathering(Function<List<Q>, List<A>> all, Executor threads) {
            this.all = all;
            this.threads = threads;
        }

        CompletionStage<A> submit(Q question) {
            CompletableFuture<A> answer = new CompletableFuture<>();
            synchronized (this) {
                if (waiting.size() == MOST_WAITING) {
                    return CompletableFuture.failedStage(
                            new IllegalStateException(MOST_WAITING + " topics wait for the store already: it is slow"));
                }
                waiting.add(new Asked<>(question, answer));
                if (asking) {
                    return answer;
                }
                asking = true;
            }
            ask();
            return answer;
        }

        private void ask() {
            try {
                threads.execute(this);
            } catch (RuntimeException e) {
                next(waiting.size()).forEach(asked -> asked.answer.completeExceptionally(e));
            }
        }

        @Override
        public void run() {
            List<Asked<Q, A>> together = next(TopicRows.MOST_AT_ONCE);
            if (together.isEmpty()) {
                return;
            }
            try {
                List<A> answers =
                        all.apply(together.stream().map(Asked::question).toList());
                for (int i = 0; i < together.size(); i++) {
                    together.get(i).answer.complete(answers.get(i));
                }
            } catch (RuntimeException e) {
                together.forEach(asked -> asked.answer.completeExceptionally(e));
            }
            // Behind whatever else waits for these threads.
            ask();
        }

        /** If nobody waits, the next who comes asks anew. */
        private synchronized List<Asked<Q, A>> next(int most) {
            List<Asked<Q, A>> together = new ArrayList<>();
            while (together.size() < most && !waiting.isEmpty()) {
                together.add(waiting.poll());
            }
            asking = !together.isEmpty();
            return together;
        }
    }
}
