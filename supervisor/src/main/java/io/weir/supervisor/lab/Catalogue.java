package io.weir.supervisor.lab;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.TreeMap;

/** The experiments on the class path, in the order of their names. */
public final class Catalogue {
    private final TreeMap<String, Experiment> byName = new TreeMap<>();

    public Catalogue(Iterable<Experiment> experiments) {
        for (Experiment experiment : experiments) {
            Experiment other = byName.put(experiment.name(), experiment);
            if (other != null) {
                throw new IllegalStateException("two experiments are called " + experiment.name() + ": "
                        + other.getClass().getName() + " and "
                        + experiment.getClass().getName());
            }
        }
    }

    public static Catalogue onClassPath() {
        return new Catalogue(ServiceLoader.load(Experiment.class));
    }

    public Collection<Experiment> all() {
        return byName.values();
    }

    public Optional<Experiment> find(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    /** Up to three names that someone who typed {@code name} may have meant, the likeliest first. */
    public List<String> near(String name) {
        record Guess(String name, int edits) {}
        List<Guess> guesses = new ArrayList<>();
        for (String known : byName.keySet()) {
            boolean part = name.length() >= 3 && known.contains(name);
            int edits = edits(name, known);
            if (part || edits <= Math.max(2, known.length() / 3)) {
                guesses.add(new Guess(known, part ? 0 : edits));
            }
        }
        return guesses.stream()
                .sorted(Comparator.comparingInt(Guess::edits).thenComparing(Guess::name))
                .limit(3)
                .map(Guess::name)
                .toList();
    }

    /** How many letters to insert, delete or replace to turn one into the other (Levenshtein). */
    private static int edits(String from, String to) {
        int[] row = new int[to.length() + 1];
        Arrays.setAll(row, i -> i);
        for (int i = 1; i <= from.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= to.length(); j++) {
                int replaced = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[to.length()];
    }
}
