package io.weir.supervisor.cli;

/** Ends a command with one line that a person can act on, and an exit code for a script; no stack trace is shown. */
public final class CliException extends RuntimeException {
    private final int exitCode;

    public CliException(int exitCode, String message) {
        super(message);
        this.exitCode = exitCode;
    }

    public static CliException unavailable(String message) {
        return new CliException(ExitCode.UNAVAILABLE, message);
    }

    public static CliException usage(String message) {
        return new CliException(ExitCode.USAGE, message);
    }

    public int exitCode() {
        return exitCode;
    }
}
