package io.weir.supervisor.cli;

/** The exit codes of every command, for scripts. */
public final class ExitCode {
    public static final int OK = 0;
    /** The command ran, and its answer is no: a broker is not up, a finding does not hold, an invariant broke. */
    public static final int FAILED = 1;
    /** The command line itself was wrong. */
    public static final int USAGE = 2;
    /** What the command needed was not there: no cluster, no rights, a port in use, a file that can't be read. */
    public static final int UNAVAILABLE = 3;

    private ExitCode() {}
}
