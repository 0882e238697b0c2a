package io.weir.supervisor.store;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Several threads that do the same at the same moment. */
final class Race {
    /** What one of them does. */
    interface Racer<T> {
        T run(int number) throws Exception;
    }

    private Race() {}

    /** Answers what each of them got, by its number. */
    static <T> List<T> of(int racers, Racer<T> racer) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(racers);
        try {
            CyclicBarrier start = new CyclicBarrier(racers);
            List<Callable<T>> tasks = new ArrayList<>();
            for (int i = 0; i < racers; i++) {
                int number = i;
                tasks.add(() -> {
                    start.await();
                    return racer.run(number);
                });
            }
            List<T> results = new ArrayList<>();
            for (Future<T> result : threads.invokeAll(tasks)) {
                results.add(result.get());
            }
            return results;
        } finally {
            threads.shutdownNow();
        }
    }
}
