package io.weir.supervisor.local;

import java.io.Serializable;
import java.util.List;

/**
 * What a local cluster consists of, as written to its data directory.
 *
 * @param storeUrl a store that somebody else runs, or null where the cluster has its own
 * @param restart whether its keeper starts brokers again that have died
 * @param processes what was started last under each name: keeper, store, driver, and the brokers by their ids
 */
public record ClusterState(int portBase, int brokers, String storeUrl, boolean restart, List<LocalProcess> processes)
        implements Serializable {
    public static final String KEEPER = "keeper";
    static final String STORE = "store";
    static final String DRIVER = "media-driver";
    /** Ports from one broker to the next: tcp, http, cluster and management are its first four. */
    private static final int STRIDE = 10;

    private static final int STORE_OFFSET = 8;
    static final int MAX_BROKERS = 50;

    public static String brokerId(int index) {
        return "b" + (index + 1);
    }

    public List<String> brokerIds() {
        return java.util.stream.IntStream.range(0, brokers)
                .mapToObj(ClusterState::brokerId)
                .toList();
    }

    private int port(String brokerId, int offset) {
        return portBase + STRIDE * (Integer.parseInt(brokerId.substring(1)) - 1) + offset;
    }

    public int tcpPort(String brokerId) {
        return port(brokerId, 0);
    }

    public int httpPort(String brokerId) {
        return port(brokerId, 1);
    }

    int clusterPort(String brokerId) {
        return port(brokerId, 2);
    }

    int managementPort(String brokerId) {
        return port(brokerId, 3);
    }

    int linkPort(String brokerId) {
        return port(brokerId, 4);
    }

    int storePort() {
        return portBase + STORE_OFFSET;
    }

    int highestPort() {
        return portBase + STRIDE * brokers - 1;
    }

    /** The process that runs under {@code name}, dead or alive. */
    public java.util.Optional<LocalProcess> process(String name) {
        return processes.stream().filter(process -> process.name().equals(name)).findFirst();
    }

    public boolean isAlive(String name) {
        return process(name).map(LocalProcess::isAlive).orElse(false);
    }

    public boolean anyAlive() {
        return processes.stream().anyMatch(LocalProcess::isAlive);
    }

    ClusterState with(LocalProcess started) {
        List<LocalProcess> all = new java.util.ArrayList<>(processes);
        all.removeIf(process -> process.name().equals(started.name()));
        all.add(started);
        return new ClusterState(portBase, brokers, storeUrl, restart, List.copyOf(all));
    }

    /** As it is read with any JSON parser; written without one, which would be most of the keeper's memory. */
    String json() {
        StringBuilder text = new StringBuilder("{\n")
                .append("  \"portBase\" : ")
                .append(portBase)
                .append(",\n  \"brokers\" : ")
                .append(brokers)
                .append(",\n  \"storeUrl\" : ")
                .append(storeUrl == null ? "null" : quoted(storeUrl))
                .append(",\n  \"restart\" : ")
                .append(restart)
                .append(",\n  \"processes\" : [");
        String separator = "\n";
        for (LocalProcess process : processes) {
            text.append(separator)
                    .append("    { \"name\" : ")
                    .append(quoted(process.name()))
                    .append(", \"pid\" : ")
                    .append(process.pid())
                    .append(", \"startedAtMs\" : ")
                    .append(process.startedAtMs())
                    .append(" }");
            separator = ",\n";
        }
        return text.append("\n  ]\n}\n").toString();
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\') {
                quoted.append('\\').append(each);
            } else if (each < ' ') {
                quoted.append(String.format("\\u%04x", (int) each));
            } else {
                quoted.append(each);
            }
        }
        return quoted.append('"').toString();
    }

    ClusterState without(List<String> names) {
        return new ClusterState(
                portBase,
                brokers,
                storeUrl,
                restart,
                processes.stream()
                        .filter(process -> !names.contains(process.name()))
                        .toList());
    }

    /** Every process that belongs to the cluster beside its keeper, in the order in which they are started. */
    List<String> names() {
        List<String> names = new java.util.ArrayList<>();
        if (storeUrl == null) {
            names.add(STORE);
        }
        names.add(DRIVER);
        names.addAll(brokerIds());
        return names;
    }

    /** Whether the keeper starts it again when it dies. */
    public boolean isStartedAgain(String name) {
        return isAlive(KEEPER) && (restart || !isBroker(name));
    }

    boolean isBroker(String name) {
        return brokerIds().contains(name);
    }
}
