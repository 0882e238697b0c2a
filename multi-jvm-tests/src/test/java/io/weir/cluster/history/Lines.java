package io.weir.cluster.history;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** A history as a stranger would write it, line by line; times are in milliseconds here. */
final class Lines {
    static final long MS = 1_000_000L;

    private final Path directory;
    private final List<String> lines = new ArrayList<>();

    Lines(Path directory) {
        this.directory = directory;
    }

    Lines add(String line) {
        lines.add(line.replace('\'', '"'));
        return this;
    }

    Lines limit(double ms, double rate, double burst) {
        return limit("limit", ms, rate, burst);
    }

    Lines asked(double ms, double rate, double burst) {
        return limit("limit-asked", ms, rate, burst);
    }

    private Lines limit(String type, double ms, double rate, double burst) {
        return add("{'t':" + ns(ms) + ",'type':'" + type + "','topic':'orders','rate':" + rate + ",'burst':" + burst
                + "}");
    }

    Lines admit(String broker, double ms) {
        return admit(broker, ms, "");
    }

    /** @param more fields, each with a comma before it */
    Lines admit(String broker, double ms, String more) {
        return add(
                "{'t':" + ns(ms) + ",'type':'admit','topic':'orders','broker':'" + broker + "','inc':1" + more + "}");
    }

    /** One message every so many milliseconds. */
    Lines every(double everyMs, double fromMs, double toMs, String... brokers) {
        int i = 0;
        for (double ms = fromMs; ms < toMs; ms += everyMs) {
            admit(brokers[i++ % brokers.length], ms);
        }
        return this;
    }

    Lines publish(double ms, String id, String phase) {
        return add("{'t':" + ns(ms) + ",'type':'publish','client':'p1','phase':'" + phase
                + "','topic':'orders','broker':'b1','id':'" + id + "'}");
    }

    Lines deliver(double ms, String id) {
        return deliver(ms, id, "audit");
    }

    Lines deliver(double ms, String id, String channel) {
        return add("{'t':" + ns(ms) + ",'type':'deliver','topic':'orders','channel':'" + channel + "','id':'" + id
                + "','attempts':1}");
    }

    Lines phase(double ms, String name) {
        return add("{'t':" + ns(ms) + ",'type':'phase','name':'" + name + "'}");
    }

    Lines fault(double ms, String fault, String phase, String host) {
        return add("{'t':" + ns(ms) + ",'type':'nemesis','fault':'" + fault + "','phase':'" + phase + "','hosts':['"
                + host + "']}");
    }

    Lines without(String part) {
        lines.removeIf(line -> line.contains(part.replace('\'', '"')));
        return this;
    }

    Lines shuffled(long seed) {
        Collections.shuffle(lines, new Random(seed));
        return this;
    }

    static long ns(double ms) {
        return Math.round(ms * MS);
    }

    Path file() {
        try {
            Path file = Files.createTempFile(directory, "history", ".jsonl");
            Files.write(file, lines);
            return file;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    History history() {
        try {
            return History.read(file());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Verdict verdict(Invariant invariant) {
        return HistoryCheck.of(history()).verdict(invariant);
    }

    void hold(Invariant invariant) {
        Verdict verdict = verdict(invariant);
        assertThat(verdict.outcome()).as(verdict.toString()).isEqualTo(Verdict.Outcome.HELD);
    }

    Violation violate(Invariant invariant, String... texts) {
        Verdict verdict = verdict(invariant);
        assertThat(verdict.outcome()).as(verdict.toString()).isEqualTo(Verdict.Outcome.VIOLATED);
        assertThat(verdict.violations())
                .anySatisfy(found -> assertThat(List.of(texts)).allMatch(found.text()::contains));
        return verdict.violations().get(0);
    }

    void leaveUnchecked(Invariant invariant, String why) {
        Verdict verdict = verdict(invariant);
        assertThat(verdict.outcome()).as(verdict.toString()).isEqualTo(Verdict.Outcome.NOT_CHECKED);
        assertThat(verdict.text()).contains(why);
    }
}
