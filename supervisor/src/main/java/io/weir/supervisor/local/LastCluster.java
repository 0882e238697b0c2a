package io.weir.supervisor.local;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * Which cluster the user started last, so that the next command needs no {@code --data}. Kept in {@code ~/.weir/last}
 * (or under {@code WEIR_USER_DIR}), and gone with {@code weir down}.
 */
public final class LastCluster {
    private final Path userDirectory;

    public LastCluster(Map<String, String> environment) {
        String chosen = environment.get("WEIR_USER_DIR");
        this.userDirectory = chosen != null ? Path.of(chosen) : Path.of(System.getProperty("user.home"), ".weir");
    }

    public Path defaultData() {
        return userDirectory.resolve("data");
    }

    public Optional<Path> data() {
        try {
            return Optional.of(Path.of(Files.readString(pointer()).strip()));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Without the right to write there, the user has to say {@code --data} each time, and nothing else breaks. */
    public boolean remember(Path data) {
        try {
            Files.createDirectories(userDirectory);
            Files.writeString(pointer(), data + "\n");
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    public void forget(Path data) {
        if (data().filter(data::equals).isPresent()) {
            try {
                Files.deleteIfExists(pointer());
            } catch (IOException e) {
                throw new LocalClusterException(pointer() + " can't be removed: " + e.getMessage());
            }
        }
    }

    private Path pointer() {
        return userDirectory.resolve("last");
    }
}
