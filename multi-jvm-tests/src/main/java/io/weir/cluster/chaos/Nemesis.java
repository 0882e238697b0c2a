package io.weir.cluster.chaos;

import io.weir.cluster.chaos.Episode.Step;
import io.weir.cluster.failpoints.LoanTrouble;
import io.weir.cluster.history.HistoryWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out a schedule in real time, each episode on a thread of its own, and at the end whatever it takes that all
 * is well again.
 */
final class Nemesis {
    private static final Logger LOG = LoggerFactory.getLogger(Nemesis.class);
    private static final Duration LIMIT_WITHIN = Duration.ofSeconds(60);
    /** Longer than any fault of the store. */
    private static final Duration MOVED_WITHIN = Duration.ofSeconds(60);

    private static final long LOOK_MS = 50;

    private final Scene scene;
    private final Ground ground;
    private final LimitChanges limits;
    private final HomeBook homes;
    private final HistoryWriter history;
    private final Story story;
    private final Collection<String> troubles = new ConcurrentLinkedQueue<>();

    Nemesis(Scene scene, Ground ground, LimitChanges limits, HomeBook homes, HistoryWriter history, Story story) {
        this.scene = scene;
        this.ground = ground;
        this.limits = limits;
        this.homes = homes;
        this.history = history;
        this.story = story;
    }

    /** What could not be carried out: the run has shown less than it says. */
    List<String> troubles() {
        return List.copyOf(troubles);
    }

    /** Returns when every episode has ended, or soon after {@code stop} says so. */
    void run(FaultSchedule schedule, BooleanSupplier stop) throws InterruptedException {
        long beginNs = System.nanoTime();
        List<Thread> playing = new ArrayList<>();
        try {
            for (Episode episode : schedule.episodes()) {
                Thread thread = new Thread(() -> play(episode, beginNs), "nemesis-" + episode.fault());
                thread.setDaemon(true);
                thread.start();
                playing.add(thread);
            }
            while (!stop.getAsBoolean() && playing.stream().anyMatch(Thread::isAlive)) {
                TimeUnit.MILLISECONDS.sleep(LOOK_MS);
            }
        } finally {
            playing.forEach(Thread::interrupt);
        }
        for (Thread thread : playing) {
            thread.join(TimeUnit.SECONDS.toMillis(5));
        }
    }

    private void play(Episode episode, long beginNs) {
        try {
            boolean first = true;
            for (Step step : episode.steps()) {
                sleepUntil(beginNs + TimeUnit.MILLISECONDS.toNanos(episode.startMs() + step.afterMs()));
                if (first) {
                    first = false;
                    story.tell(episode.fault() + ": " + episode.text());
                    tell(episode, "start");
                }
                carryOut(step.act());
            }
            story.tell(episode.fault() + " is over");
            tell(episode, "end");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void tell(Episode episode, String phase) {
        history.nemesis(System.nanoTime(), episode.fault().toString(), phase, episode.text(), episode.hosts());
    }

    private void carryOut(Act act) throws InterruptedException {
        LOG.debug("{}", act);
        try {
            if (act instanceof Act.ChangeLimit change) {
                ChaosTopic topic = ChaosTopic.ALL.stream()
                        .filter(each -> each.name().equals(change.topic()))
                        .findFirst()
                        .orElseThrow();
                limits.change(topic, change.factor(), LIMIT_WITHIN);
            } else if (act instanceof Act.Move move) {
                homes.move(move.topic(), move.broker(), MOVED_WITHIN);
            } else {
                ground.carryOut(act);
            }
        } catch (IllegalStateException e) {
            troubles.add(act + ": " + e.getMessage());
            story.tell(act + " failed: " + e.getMessage());
        }
    }

    /** Undoes whatever may still be in force, so that an interrupted schedule leaves nothing behind either. */
    void heal() throws InterruptedException {
        List<Act> undo = new ArrayList<>();
        if (scene.means().contains(Means.NETWORK)) {
            undo.add(new Act.Links(Map.of()));
        }
        undo.add(new Act.ResumeStore());
        if (scene.means().contains(Means.DISK)) {
            undo.add(new Act.FreeDisk());
        }
        undo.add(new Act.StartStore());
        for (String broker : scene.brokers()) {
            undo.add(new Act.Resume(broker));
            if (scene.means().contains(Means.QUOTA)) {
                undo.add(new Act.NoQuota(broker));
            }
            if (scene.means().contains(Means.FAILPOINTS)) {
                undo.add(new Act.WallClock(broker, 0));
                undo.add(new Act.Disarm(broker));
                undo.add(new Act.Loans(broker, LoanTrouble.NONE));
            }
            if (scene.means().contains(Means.NETWORK)) {
                undo.add(new Act.StartDriver(broker));
            }
            undo.add(new Act.Start(broker));
        }
        if (scene.means().contains(Means.NETWORK) && ground.isAlive(scene.spare())) {
            undo.add(new Act.Leave(scene.spare()));
        }
        for (ChaosTopic topic : ChaosTopic.ALL) {
            undo.add(new Act.ChangeLimit(topic.name(), 1));
        }
        for (Act act : undo) {
            carryOut(act);
        }
    }

    private static void sleepUntil(long ns) throws InterruptedException {
        long leftNs = ns - System.nanoTime();
        if (leftNs > 0) {
            TimeUnit.NANOSECONDS.sleep(leftNs);
        }
    }
}
