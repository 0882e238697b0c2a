package io.weir.cluster.chaos;

import io.weir.cluster.TopicClient;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** The cluster that chaos befalls, on whatever it runs: hosts in networks of their own, or processes on loopback. */
interface Ground extends AutoCloseable {
    /** What can be done to it. */
    Set<Means> means();

    /** What is missing for the rest of the catalogue, a line each. */
    List<String> obstacles();

    /** Starts store and brokers; whether they are ready is for {@link #ready} to say. */
    void start();

    /**
     * Does it; what is so already stays so.
     *
     * @throws IllegalStateException if it could not be done
     */
    void carryOut(Act act);

    boolean isAlive(String broker);

    /** A number that no other life of the broker has had; 0 if it does not run. */
    long process(String broker);

    /** Whether the broker answers and is a member; false also for one that is cut off from here. */
    boolean ready(String broker);

    /** The broker's HTTP, on a way that no cut touches. */
    TopicClient topics(String broker);

    /** Where clients in the cluster's networks find a broker: host:port. */
    String tcp(String broker);

    /** The store as this process reaches it, with user and password. */
    String storeUrl();

    /** Where brokers record what they admit. */
    Path admissions();

    /** Where the logs are, for a person. */
    Path directory();

    /** Starts {@code weir ARGUMENTS} beside a broker, in its network. */
    void startClient(String name, String beside, List<String> arguments);

    boolean clientAlive(String name);

    @Override
    void close();
}
