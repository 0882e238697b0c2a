package io.weir.cluster.stage;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/** Builds a stage with everything that could stay behind, says what to look for, and waits for its death. */
final class DoomedTool {
    private DoomedTool() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        Path directory = Path.of(args[0]);
        Path disk = Files.createDirectories(directory.resolve("disk"));
        // Longer than the test, and with its directory in the command line, where the test finds it.
        List<String> sleep = List.of("/bin/sh", "-c", "while sleep 1; do :; done", directory.toString());
        Stage stage = Stage.of(List.of("x", "y"));
        stage.run(List.of("mount", "-t", "tmpfs", "tmpfs", disk.toString()));
        stage.run(List.of("touch", disk.resolve("file").toString(), "/dev/shm/weir-doomed"));
        StagedProcess running = stage.start("x", sleep, Map.of(), directory.resolve("x.log"));
        StagedProcess paused = stage.start("x", sleep, Map.of(), directory.resolve("x.log"));
        paused.pause();
        if (stage.cpuObstacle().isEmpty()) {
            stage.cpuQuota(running, 50);
            say("group " + stage.cpuGroupDirectory().orElseThrow());
        }
        stage.door("x", 1);
        Process inside = new ProcessBuilder(stage.inside("x", sleep)).start();
        say("inside " + inside.pid());
        Process asked = new ProcessBuilder(stage.inside("x", List.of("readlink", "/proc/self/ns/net"))).start();
        say("network " + asked.inputReader().readLine());
        say("ready");
        new CountDownLatch(1).await();
    }

    private static void say(String line) throws IOException {
        OutputStream out = new FileOutputStream(FileDescriptor.out);
        out.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
    }
}
