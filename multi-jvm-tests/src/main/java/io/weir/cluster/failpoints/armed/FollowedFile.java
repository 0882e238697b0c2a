package io.weir.cluster.failpoints.armed;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A file by which a tool turns a switch in a running process: it is read several times a second. */
final class FollowedFile {
    private static final long LOOK_MS = 100;

    private FollowedFile() {}

    /** @param changed gets the text without white space around it; an empty one while there is no such file */
    static void follow(Path file, String thread, Consumer<String> changed) {
        Thread reader = new Thread(() -> follow(file, changed), thread);
        reader.setDaemon(true);
        reader.start();
    }

    private static void follow(Path file, Consumer<String> changed) {
        String last = "";
        try {
            while (true) {
                String text = read(file);
                if (!text.equals(last)) {
                    changed.accept(text);
                    last = text;
                }
                TimeUnit.MILLISECONDS.sleep(LOOK_MS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            return "";
        }
    }
}
