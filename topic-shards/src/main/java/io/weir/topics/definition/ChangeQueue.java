package io.weir.topics.definition;

import akka.actor.typed.ActorRef;
import io.weir.config.value.TopicName;
import io.weir.topics.definition.Topic.Answer;
import io.weir.topics.definition.Topic.ChangeLimit;
import io.weir.topics.definition.Topic.Command;
import io.weir.topics.definition.Topic.Create;
import io.weir.topics.definition.Topic.Delete;
import io.weir.topics.definition.Topic.DeleteChannel;
import io.weir.topics.definition.Topic.Ensure;
import io.weir.topics.definition.Topic.LimitChannel;
import io.weir.topics.definition.TopicDefinition.LimitSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The changes of a topic's limits that wait for their turn. A version of a limit may be decided when the one before it
 * is in the store. Changes of one limit that follow each other become one version, and the last one wins; changes of
 * different limits do not wait for each other. A deletion takes the place of the changes before it, and a creation
 * waits for the deletion. It knows nothing of time: how long somebody waits is for its owner to decide.
 */
final class ChangeQueue {
    static final int MOST = 100;

    /**
     * A caller whose change waits for its turn.
     *
     * @param key the limit that it changes; empty for all of the topic's
     */
    record Queued(Command command, Optional<TopicName> key, ActorRef<Answer> replyTo) {
        private boolean concerns(Optional<TopicName> other) {
            return key.isEmpty() || other.isEmpty() || key.equals(other);
        }
    }

    /**
     * What is to be done now.
     *
     * @param command all that was asked for, as one change
     * @param asked by whom
     */
    record Due(Command command, List<Queued> asked) {
        /** Whether a later change took the place of this one. */
        boolean supersedes(Queued one) {
            return !includes(command, one.command);
        }
    }

    private final StoredVersions stored;
    private final List<Queued> queue = new ArrayList<>();

    ChangeQueue(StoredVersions stored) {
        this.stored = stored;
    }

    /** Whether the command has to queue: for its version's turn, or behind others. */
    boolean mustWait(TopicDefinition now, Command command) {
        Optional<TopicName> key = key(now, command);
        return mustWait(now, command, key)
                || !harmless(now, command) && queue.stream().anyMatch(queued -> queued.concerns(key));
    }

    boolean isFull() {
        return queue.size() == MOST;
    }

    Queued add(TopicDefinition now, Command command, ActorRef<Answer> replyTo) {
        Queued queued = new Queued(command, key(now, command), replyTo);
        queue.add(queued);
        return queued;
    }

    /** False if its turn has come, and it is not in the queue any more. */
    boolean remove(Queued queued) {
        return queue.remove(queued);
    }

    /** Everybody that waits; nobody does then. */
    List<Queued> removeAll() {
        List<Queued> all = List.copyOf(queue);
        queue.clear();
        return all;
    }

    /** Takes the first change whose turn has come, with all that may become one version with it. */
    Optional<Due> takeNext(TopicDefinition now) {
        List<Queued> stillWaiting = new ArrayList<>();
        for (Queued asked : queue) {
            // Anew: which limits it changes depends on the definition.
            Queued first = new Queued(asked.command, key(now, asked.command), asked.replyTo);
            if (!mustWait(now, first.command, first.key)
                    && stillWaiting.stream().noneMatch(other -> other.concerns(first.key))) {
                return Optional.of(take(now, asked));
            }
            stillWaiting.add(first);
        }
        return Optional.empty();
    }

    private Due take(TopicDefinition now, Queued first) {
        List<Queued> together = new ArrayList<>(List.of(first));
        Command last = first.command;
        for (Queued later : queue.subList(queue.indexOf(first) + 1, queue.size())) {
            Optional<Command> both = both(last, later.command)
                    // Together they may change limits that the first of them left alone, and whose turn has not come.
                    .filter(command -> !mustWait(now, command, key(now, command)));
            if (both.isPresent()) {
                last = both.get();
                together.add(later);
            } else if (later.concerns(key(now, last))) {
                break;
            }
        }
        queue.removeAll(together);
        return new Due(last, together);
    }

    /** What keeps a change waiting, for a person. */
    String whyWaiting(TopicDefinition now, Queued queued) {
        TopicName held = queued.key
                .filter(key -> now.limits().containsKey(key) && stored.isPending(now, key))
                .orElseGet(() -> stored.firstPending(now));
        String why = held == null
                ? "changes that came before it are not made yet"
                : "version " + now.limits().get(held).version() + " of the limit of " + held + " can't begin: "
                        + stored.inTheWayOf(held);
        return creates(queued.command) ? "the topic " + now.name() + " is still being deleted, and " + why : why;
    }

    /** Which limit a command changes; empty for all of the topic's. */
    private static Optional<TopicName> key(TopicDefinition now, Command command) {
        if (command instanceof LimitChannel limit) {
            return Optional.of(now.key(limit.channel()));
        }
        if (command instanceof DeleteChannel deletion) {
            return Optional.of(now.key(deletion.channel()));
        }
        if (command instanceof ChangeLimit change) {
            LimitSettings wanted = change.on(now.limit());
            boolean ofChannelsToo = wanted.floorPermille() != now.limit().floorPermille()
                    || wanted.sharing() != now.limit().sharing()
                    || wanted.indicator() != now.limit().indicator();
            return ofChannelsToo ? Optional.empty() : Optional.of(now.name());
        }
        return Optional.empty();
    }

    /** Somebody publishes to a topic that exists: nothing changes, and what queues does not matter. */
    private static boolean harmless(TopicDefinition now, Command command) {
        return command instanceof Ensure && now.exists();
    }

    private static boolean creates(Command command) {
        return command instanceof Create || command instanceof Ensure;
    }

    /** A version may be decided when the one before it is in the store, where it is inserted when that is done. */
    private boolean mustWait(TopicDefinition now, Command command, Optional<TopicName> changed) {
        if (now.exists() == creates(command)) {
            return false;
        }
        return changed.map(key -> now.limits().containsKey(key) && stored.isPending(now, key))
                .orElseGet(() -> stored.firstPending(now) != null);
    }

    /** What two changes are that follow each other, if they can become one version: the later one wins. */
    private static Optional<Command> both(Command first, Command later) {
        if (first instanceof ChangeLimit a && later instanceof ChangeLimit b) {
            return Optional.of(a.then(b));
        }
        boolean sameChannel = first instanceof LimitChannel a
                && (later instanceof LimitChannel b && a.channel().equals(b.channel())
                        || later instanceof DeleteChannel c && a.channel().equals(c.channel()));
        boolean limitsOnly =
                first instanceof ChangeLimit || first instanceof LimitChannel || first instanceof DeleteChannel;
        return sameChannel || limitsOnly && later instanceof Delete ? Optional.of(later) : Optional.empty();
    }

    private static boolean includes(Command decided, Command asked) {
        if (decided instanceof ChangeLimit all && asked instanceof ChangeLimit one) {
            return all.then(one).on(LimitSettings.NONE).equals(all.on(LimitSettings.NONE));
        }
        if (decided instanceof LimitChannel a && asked instanceof LimitChannel b) {
            return a.rateMicros() == b.rateMicros() && a.burstMicros() == b.burstMicros();
        }
        return decided == asked;
    }
}
