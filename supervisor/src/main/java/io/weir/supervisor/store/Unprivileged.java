package io.weir.supervisor.store;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * How PostgreSQL's programs are run as somebody else than root, whom they refuse, and as somebody who has a name, which
 * initdb asks for: simply as they are; in a user namespace, where root is nobody and its files are nobody's; or as the
 * user nobody, who keeps one right of root's, to pass folders that are root's only. Each is tried before it is used:
 * containers often allow the last alone.
 *
 * @param words what a command begins with
 * @param owner whose the files must be, by number; empty if they stay this process's own
 */
record Unprivileged(List<String> words, Optional<Integer> owner) {
    private static final int NOBODY = 65_534;
    private static final List<Unprivileged> WAYS = List.of(
            new Unprivileged(List.of(), Optional.empty()),
            new Unprivileged(List.of("unshare", "--user"), Optional.empty()),
            new Unprivileged(
                    List.of(
                            "setpriv",
                            "--reuid=" + NOBODY,
                            "--regid=" + NOBODY,
                            "--clear-groups",
                            "--inh-caps=+dac_override",
                            "--ambient-caps=+dac_override"),
                    Optional.of(NOBODY)));
    private static final String PROBE =
            "[ \"$(id -u)\" != 0 ] && id -un >/dev/null 2>&1 && [ -w \"$1\" ] && \"$2\" --version >/dev/null";

    /** The first way in which the program runs and the directory can be written. */
    static Unprivileged in(Path directory, Path program) {
        return WAYS.stream()
                .filter(way -> Command.of(way.command(
                                List.of("/bin/sh", "-c", PROBE, "weir", directory.toString(), program.toString())))
                        .succeeds())
                .findFirst()
                .orElseThrow(() -> new StoreException(why(directory, program)));
    }

    List<String> command(List<String> command) {
        List<String> all = new ArrayList<>(words);
        all.addAll(command);
        return List.copyOf(all);
    }

    private static String why(Path directory, Path program) {
        Command version = Command.of(List.of(program.toString(), "--version"));
        if (!version.succeeds()) {
            try {
                version.run();
            } catch (StoreException e) {
                return "PostgreSQL does not run on this machine: " + e.getMessage();
            }
        }
        return "PostgreSQL can't be run with its data in " + directory
                + ": this user may not write there, or is root, or has no name,"
                + " and neither 'unshare --user' nor 'setpriv --reuid=" + NOBODY
                + "' works here. Start Weir as an ordinary user, or use a PostgreSQL of yours with --store URL";
    }
}
