package io.weir.cluster.chaos;

import io.weir.cluster.failpoints.CrashPoint;
import io.weir.cluster.failpoints.LoanTrouble;
import io.weir.cluster.stage.Conditions;
import io.weir.cluster.stage.Network;
import java.util.Map;

/** One thing that is done to the cluster. A description only: the {@link FaultSchedule} says when it is carried out. */
public sealed interface Act {
    /** kill -9; a broker that has died already stays so. */
    record Kill(String broker) implements Act {}

    /**
     * Starts a broker whose process is over; one that runs stays as it is.
     *
     * @param environment on top of what every broker gets, for this life only
     */
    record Start(String broker, Map<String, String> environment) implements Act {
        public Start {
            environment = Map.copyOf(environment);
        }

        Start(String broker) {
            this(broker, Map.of());
        }
    }

    /** SIGSTOP. */
    record Pause(String broker) implements Act {}

    /** SIGCONT. */
    record Resume(String broker) implements Act {}

    /** The broker goes out of the cluster in good order and ends. */
    record Leave(String broker) implements Act {}

    /** A broker that the cluster has never seen. */
    record Join(String broker) implements Act {}

    /** kill -9 of the media driver of a broker's host. */
    record KillDriver(String broker) implements Act {}

    /** And a new one. */
    record StartDriver(String broker) implements Act {}

    /**
     * What happens to frames from now on; replaces whatever happened to them before, in one step. Empty: all is well.
     */
    record Links(Map<Network.Direction, Conditions> conditions) implements Act {
        public Links {
            conditions = Map.copyOf(conditions);
        }
    }

    /** kill -9. */
    record KillStore() implements Act {}

    /** Starts it where it was. */
    record StartStore() implements Act {}

    /** SIGSTOP. */
    record PauseStore() implements Act {}

    /** SIGCONT. */
    record ResumeStore() implements Act {}

    /** No byte fits on the store's disk any more. */
    record FillDisk() implements Act {}

    /** There is room again. */
    record FreeDisk() implements Act {}

    /** So much of one core, in percent. */
    record Quota(String broker, int percent) implements Act {}

    /** As much as there is. */
    record NoQuota(String broker) implements Act {}

    /** The broker's process ends when its supply protocol comes to a step, as {@link CrashPoint} says. */
    record Arm(String broker, CrashPoint point) implements Act {}

    /** It does not, from now on. */
    record Disarm(String broker) implements Act {}

    /** Frames in which this broker asks for tokens and lends some are lost or repeated from now on. */
    record Loans(String broker, LoanTrouble trouble) implements Act {}

    /** A broker's wall clock is so far from the true one, from now on; 0 sets it right. */
    record WallClock(String broker, long offsetSeconds) implements Act {}

    /** A topic's limit becomes so many times what it was at first; 1 restores it. */
    record ChangeLimit(String topic, double factor) implements Act {}

    /**
     * Every publisher of a topic gets this broker as its home, by a decision that a rival of the cluster's own
     * distributor might have made.
     */
    record Move(String topic, String broker) implements Act {}
}
