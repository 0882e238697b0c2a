package io.weir.supervisor.node;

import java.util.List;

/** Whether a broker serves, and if not, what it waits for. */
public record Readiness(boolean ready, List<String> waitingFor) {}
