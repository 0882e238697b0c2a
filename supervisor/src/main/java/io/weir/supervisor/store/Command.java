package io.weir.supervisor.store;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** A program that does one thing and ends. */
record Command(List<String> words, String input) {
    static Command of(List<String> words) {
        return new Command(words, "");
    }

    /** @throws StoreException with what it said if it fails, or can't be run at all */
    String run() {
        try {
            ProcessBuilder builder = new ProcessBuilder(words).redirectErrorStream(true);
            // The user's PG… variables are for another PostgreSQL. LC_ALL: the messages are parsed.
            builder.environment().keySet().removeIf(name -> name.startsWith("PG"));
            builder.environment().put("LC_ALL", "C");
            Process process = builder.start();
            feed(process);
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            if (process.waitFor() != 0) {
                throw new StoreException(words.get(0) + " failed: " + said.replaceAll("\\s*\\R\\s*", "; "));
            }
            return said;
        } catch (IOException e) {
            throw new StoreException(words.get(0) + " can't be run: " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new StoreException("interrupted", e);
        }
    }

    private void feed(Process process) {
        try (OutputStream in = process.getOutputStream()) {
            in.write(input.getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            // It ended without reading all of its input; its output says why.
            return;
        }
    }

    /** Whether it can be run and ends with 0. */
    boolean succeeds() {
        try {
            run();
            return true;
        } catch (StoreException e) {
            return false;
        }
    }
}
