package io.weir.cluster.demo;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The user's terminal while the demo draws on it: keys come one by one and unseen, and the screen is another one, so
 * that what was there before is there again afterwards. {@link #close} puts everything back, also from a shutdown hook,
 * and once only.
 */
final class Terminal implements AutoCloseable {
    private static final File TTY = new File("/dev/tty");
    private static final String OTHER_SCREEN = "\u001b[?1049h\u001b[?25l";
    private static final String FIRST_SCREEN = "\u001b[?25h\u001b[?1049l";
    private static final String HOME = "\u001b[H";
    private static final String REST_OF_LINE = "\u001b[K";
    private static final String REST_OF_SCREEN = "\u001b[J";
    /** In /proc/PID/stat, counted from after the name. */
    private static final int PROCESS_GROUP = 2;

    private static final int TERMINALS_GROUP = 5;
    private static final int USUAL_WIDTH = 80;
    private static final int USUAL_HEIGHT = 24;
    private static final long LOOK_AGAIN_NS = TimeUnit.SECONDS.toNanos(1);

    private final PrintWriter out;
    private final String before;
    private boolean closed;
    private int[] size = {USUAL_HEIGHT, USUAL_WIDTH};
    private long sizeSeenNs;

    private Terminal(PrintWriter out, String before) {
        this.out = out;
        this.before = before;
    }

    /** Whether standard output is a terminal that can be drawn on, and its keys are ours. */
    static boolean isThere() {
        String kind = System.getenv().getOrDefault("TERM", "dumb");
        try {
            return !kind.equals("dumb")
                    && TTY.canRead()
                    && inForeground()
                    && new ProcessBuilder("/bin/sh", "-c", "test -t 1")
                                    .redirectOutput(ProcessBuilder.Redirect.INHERIT)
                                    .start()
                                    .waitFor()
                            == 0
                    && !stty("-g").isEmpty();
        } catch (IOException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Whoever changes a terminal from the background is stopped. Where Linux does not tell, we are in front. */
    private static boolean inForeground() {
        try {
            String stat = Files.readString(Path.of("/proc/self/stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            return fields[PROCESS_GROUP].equals(fields[TERMINALS_GROUP]);
        } catch (IOException e) {
            return true;
        }
    }

    static Terminal open(PrintWriter out) {
        // Ctrl-C stays what it is.
        Terminal terminal = new Terminal(out, stty("-g"));
        stty("-icanon", "-echo", "min", "1", "time", "0");
        out.print(OTHER_SCREEN);
        out.flush();
        return terminal;
    }

    /** Runs {@code then} at the next key. */
    void onKey(Runnable then) {
        Thread reader = new Thread(
                () -> {
                    try (InputStream keys = new FileInputStream(TTY)) {
                        if (keys.read() >= 0) {
                            then.run();
                        }
                    } catch (IOException e) {
                        // No keys then; Ctrl-C is left.
                        Thread.currentThread().interrupt();
                    }
                },
                "demo-keys");
        reader.setDaemon(true);
        reader.start();
    }

    /** Rows and columns as they are now. */
    synchronized int[] size() {
        long nowNs = System.nanoTime();
        if (sizeSeenNs == 0 || nowNs - sizeSeenNs > LOOK_AGAIN_NS) {
            sizeSeenNs = nowNs;
            String[] words = stty("size").split(" ");
            if (words.length == 2 && words[0].matches("[1-9]\\d*") && words[1].matches("[1-9]\\d*")) {
                size = new int[] {Integer.parseInt(words[0]), Integer.parseInt(words[1])};
            }
        }
        return size;
    }

    synchronized void show(List<String> lines) {
        if (!closed) {
            out.print(HOME + String.join(REST_OF_LINE + "\r\n", lines) + REST_OF_LINE + REST_OF_SCREEN);
            out.flush();
        }
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            out.print(FIRST_SCREEN);
            out.flush();
            stty(before);
        }
    }

    /** What stty says about the terminal, or nothing. */
    private static String stty(String... arguments) {
        try {
            List<String> command = new ArrayList<>(List.of("stty"));
            command.addAll(List.of(arguments));
            Process process = new ProcessBuilder(command)
                    .redirectInput(TTY)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).strip();
            return process.waitFor() == 0 ? said : "";
        } catch (IOException e) {
            return "";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "";
        }
    }
}
