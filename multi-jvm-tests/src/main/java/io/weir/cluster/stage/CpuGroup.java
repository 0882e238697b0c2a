package io.weir.cluster.stage;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Limits of CPU time by the kernel's control groups, of version 1 or 2, whichever has the controller here: one group of
 * a stage, in it one for each process that is limited. Whoever ends the stage removes them.
 */
record CpuGroup(Path directory, boolean versionOne) {
    private static final long PERIOD_US = 100_000;

    static CpuGroup create(String name) throws IOException {
        List<String> mounts = Files.readAllLines(Path.of("/proc/self/mounts"));
        Optional<Path> one = mounts.stream()
                .map(line -> line.split(" "))
                .filter(mount -> mount[2].equals("cgroup")
                        && List.of(mount[3].split(",")).contains("cpu"))
                .map(mount -> Path.of(mount[1]))
                .findFirst();
        if (one.isPresent()) {
            return new CpuGroup(make(below(one.get(), ownPath(true)).resolve(name)), true);
        }
        Path two = mounts.stream()
                .map(line -> line.split(" "))
                .filter(mount -> mount[2].equals("cgroup2"))
                .map(mount -> Path.of(mount[1]))
                .findFirst()
                .orElseThrow(() -> new IOException("CPU time can't be limited: no control groups are mounted here"));
        // A group that has processes hands no controller on: look for the nearest one above that does.
        Path candidate = below(two, ownPath(false));
        while (!handsOnCpu(candidate)) {
            if (candidate.equals(two)) {
                throw new IOException("CPU time can't be limited: no control group above this process hands on 'cpu'"
                        + " (cgroup.subtree_control)");
            }
            candidate = candidate.getParent();
        }
        Path made = make(candidate.resolve(name));
        try {
            Files.writeString(made.resolve("cgroup.subtree_control"), "+cpu");
            return new CpuGroup(made, false);
        } catch (IOException e) {
            Files.delete(made);
            throw new IOException("CPU time can't be limited: " + e.getMessage(), e);
        }
    }

    void delete() {
        try {
            Files.delete(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Path below(Path mount, String path) {
        Path own = mount.resolve(path.substring(1));
        return Files.isDirectory(own) ? own : mount;
    }

    private static String ownPath(boolean versionOne) throws IOException {
        return Files.readAllLines(Path.of("/proc/self/cgroup")).stream()
                .map(line -> line.split(":", 3))
                .filter(parts -> versionOne
                        ? List.of(parts[1].split(",")).contains("cpu")
                        : parts[0].equals("0") && parts[1].isEmpty())
                .map(parts -> parts[2])
                .findFirst()
                .orElse("/");
    }

    private static boolean handsOnCpu(Path group) throws IOException {
        Path control = group.resolve("cgroup.subtree_control");
        return Files.isReadable(control)
                && List.of(Files.readString(control).strip().split(" ")).contains("cpu");
    }

    private static Path make(Path group) throws IOException {
        try {
            return Files.createDirectory(group);
        } catch (IOException e) {
            throw new IOException(
                    "CPU time can't be limited: this user may not make the control group " + group + " (root may)", e);
        }
    }

    /** A group whose processes get so many hundredths of a core. */
    Path quota(String name, int percent) {
        if (percent < 1) {
            throw new IllegalArgumentException("a quota of " + percent + "% leaves nothing: pause it instead");
        }
        Path own = directory.resolve(name);
        long quotaUs = PERIOD_US * percent / 100;
        try {
            Files.createDirectories(own);
            if (versionOne) {
                Files.writeString(own.resolve("cpu.cfs_period_us"), Long.toString(PERIOD_US));
                Files.writeString(own.resolve("cpu.cfs_quota_us"), Long.toString(quotaUs));
            } else {
                Files.writeString(own.resolve("cpu.max"), quotaUs + " " + PERIOD_US);
            }
            return own;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void noQuota(String name) {
        Path own = directory.resolve(name);
        try {
            if (Files.isDirectory(own)) {
                Files.writeString(own.resolve(versionOne ? "cpu.cfs_quota_us" : "cpu.max"), versionOne ? "-1" : "max");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
