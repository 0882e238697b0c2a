package io.weir.cluster.chaos;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Who is there when faults are drawn.
 *
 * @param brokers those that form the cluster
 * @param spare a broker that may join later
 * @param store the host of the store
 * @param topics whose limits may change
 * @param means what can be done here
 */
public record Scene(List<String> brokers, String spare, String store, List<String> topics, Set<Means> means) {
    public Scene {
        brokers = List.copyOf(brokers);
        topics = List.copyOf(topics);
        means = Set.copyOf(means);
    }

    /** So many brokers called b1, b2 and so on, and the next one as the spare. */
    public static Scene of(int brokers, List<String> topics, Set<Means> means) {
        List<String> ids = new ArrayList<>();
        for (int i = 1; i <= brokers; i++) {
            ids.add("b" + i);
        }
        return new Scene(ids, "b" + (brokers + 1), "store", topics, means);
    }

    /**
     * So many brokers may be dead, stopped or gone at a time: a majority stays, or nothing would be left to inherit.
     */
    int mostDown() {
        return (brokers.size() - 1) / 2;
    }

    List<String> everyone() {
        List<String> all = new ArrayList<>(brokers);
        all.add(spare);
        all.add(store);
        return all;
    }
}
