package io.weir.cluster.chaos;

import io.weir.cluster.chaos.Episode.Step;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/** What chance decides for one occurrence of a fault: whom it befalls, for how long, how much. */
final class FaultDraw {
    private final Random random;
    private final Scene scene;
    private final Fault fault;
    /** Those whom another fault has down at the same time. */
    private final Set<String> spared;

    FaultDraw(Random random, Scene scene, Fault fault, Set<String> spared) {
        this.random = random;
        this.scene = scene;
        this.fault = fault;
        this.spared = Set.copyOf(spared);
    }

    Scene scene() {
        return scene;
    }

    /** Both included. */
    int between(int least, int most) {
        return least + random.nextInt(most - least + 1);
    }

    boolean coin() {
        return random.nextBoolean();
    }

    String broker() {
        return brokers(1).get(0);
    }

    List<String> brokers(int count) {
        List<String> candidates = shuffled();
        candidates.removeAll(spared);
        return candidates.subList(0, count);
    }

    List<String> shuffled() {
        List<String> all = new ArrayList<>(scene.brokers());
        Collections.shuffle(all, random);
        return all;
    }

    List<String> othersThan(List<String> some) {
        List<String> others = scene.everyone();
        others.removeAll(some);
        return others;
    }

    String topic() {
        return oneOf(scene.topics());
    }

    <T> T oneOf(List<T> all) {
        return all.get(random.nextInt(all.size()));
    }

    long seed() {
        return random.nextInt(Integer.MAX_VALUE);
    }

    /** Of a limit: up to four times, or down to a quarter. */
    double factor() {
        double up = between(5, 16) / 4.0;
        return coin() ? up : Math.round(100 / up) / 100.0;
    }

    /** {@code b3 | b1 b2 store}; the spare is there seldom and would only distract. */
    String sides(List<String> left, List<String> right) {
        return side(left) + " | " + side(right);
    }

    private String side(List<String> hosts) {
        List<String> shown = new ArrayList<>(hosts);
        shown.remove(scene.spare());
        Collections.sort(shown);
        return String.join(" ", shown);
    }

    Telling episode(String text) {
        return new Telling(fault, text);
    }

    /** An episode being put together. */
    static final class Telling {
        private final Fault fault;
        private final String text;
        private final List<Step> steps = new ArrayList<>();
        private final Set<String> down = new LinkedHashSet<>();
        private List<String> hosts = List.of();

        private Telling(Fault fault, String text) {
            this.fault = fault;
            this.text = text;
        }

        Telling befalls(String... whom) {
            return befalls(Arrays.asList(whom));
        }

        Telling befalls(List<String> whom) {
            hosts = whom;
            return this;
        }

        Telling down(String... whom) {
            down.addAll(Arrays.asList(whom));
            return this;
        }

        Telling then(long afterMs, Act act) {
            steps.add(new Step(afterMs, act));
            return this;
        }

        Episode build() {
            return new Episode(fault, 0, steps, text, hosts, down);
        }
    }
}
