package io.weir.supervisor.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClusterDirectoryTest {
    @TempDir
    private Path temp;

    @Test
    void shouldRefuseADirectoryWithForeignFilesAndLeaveItAsItIs() throws IOException {
        Path photos = Files.createDirectory(temp.resolve("photos"));
        Files.writeString(photos.resolve("cat.jpg"), "meow");

        assertThatThrownBy(() -> ClusterDirectory.create(photos))
                .isInstanceOf(LocalClusterException.class)
                .hasMessageContaining(photos.toString())
                .hasMessageContaining("files that are not Weir's")
                .hasMessageContaining("--data");
        assertThat(photos).isDirectoryNotContaining(entry -> !entry.endsWith("cat.jpg"));
    }

    @Test
    void shouldRefuseADirectoryOfAnotherVersionWhetherItStartsOrOnlyLooks() throws IOException {
        Path data = ClusterDirectory.create(temp.resolve("data")).root();
        Files.writeString(data.resolve("version"), "2\n");

        assertThatThrownBy(() -> ClusterDirectory.create(data))
                .isInstanceOf(LocalClusterException.class)
                .hasMessageContaining("version '2'")
                .hasMessageContaining("reads version 1");
        assertThatThrownBy(() -> ClusterDirectory.existing(data)).hasMessageContaining("version '2'");
    }

    @Test
    void shouldSayHowToStartOneWhenThereIsNoCluster() {
        assertThatThrownBy(() -> ClusterDirectory.existing(temp.resolve("none")))
                .isInstanceOf(LocalClusterException.class)
                .hasMessageContaining("weir up --data " + temp.resolve("none"));
    }

    @Test
    void shouldSayWhatToDoWhenTheDirectoryCannotBeWritten() throws IOException {
        Path file = Files.writeString(temp.resolve("file"), "");

        assertThatThrownBy(() -> ClusterDirectory.create(file.resolve("below")))
                .isInstanceOf(LocalClusterException.class)
                .hasMessageContaining("can't be written")
                .hasMessageContaining("--data");
    }

    @Test
    void shouldBeForThisUserOnly() throws IOException {
        ClusterDirectory directory = ClusterDirectory.create(temp.resolve("data"));
        String password = directory.storePassword();
        Path settings = directory.root().resolve("brokers/b1.conf");
        Files.writeString(settings, "an older one that everyone could read");
        directory.writeSecret(settings, "secret");

        assertThat(password).hasSizeGreaterThanOrEqualTo(32);
        assertThat(permissions(directory.root())).isEqualTo("rwx------");
        assertThat(permissions(directory.storeDirectory().resolve("password"))).isEqualTo("rw-------");
        assertThat(permissions(settings)).isEqualTo("rw-------");
        assertThat(settings).hasContent("secret");
    }

    @Test
    void shouldKeepStateAndPasswordWhenItIsOpenedAgain() {
        ClusterDirectory first = ClusterDirectory.create(temp.resolve("data"));
        assertThat(first.state()).isEmpty();
        ClusterState state = new ClusterState(
                5000, 2, null, false, List.of(new LocalProcess("store", 11, 22), new LocalProcess("b1", 33, 44)));
        first.write(state);
        ClusterState grown = state.with(new LocalProcess("b1", 55, 66));
        first.write(grown);

        ClusterDirectory again = ClusterDirectory.create(temp.resolve("data"));

        assertThat(again.state()).contains(grown);
        assertThat(again.state().orElseThrow().process("b1")).contains(new LocalProcess("b1", 55, 66));
        assertThat(again.storePassword()).isEqualTo(first.storePassword());
        assertThat(ClusterDirectory.existing(temp.resolve("data")).state()).contains(grown);
    }

    @Test
    void shouldReadAnyStateThatItWrote() {
        ClusterDirectory directory = ClusterDirectory.create(temp.resolve("data"));
        for (ClusterState state : List.of(
                new ClusterState(5000, 1, null, true, List.of()),
                new ClusterState(
                        5000,
                        3,
                        "jdbc:postgresql://db/weir?user=\"a\\b\"\n\u0007ü",
                        false,
                        List.of(new LocalProcess("b1", Long.MAX_VALUE, -1), new LocalProcess("b2", 1, 2))))) {
            directory.write(state);
            assertThat(directory.state()).contains(state);
        }
    }

    @Test
    void shouldNameTheFileWhenTheStateCannotBeRead() throws IOException {
        ClusterDirectory directory = ClusterDirectory.create(temp.resolve("data"));
        Files.writeString(directory.root().resolve("cluster.json"), "{\"portBase\": ");

        assertThatThrownBy(directory::state)
                .isInstanceOf(LocalClusterException.class)
                .hasMessageContaining("cluster.json can't be read")
                .hasMessageNotContaining("\n");
    }

    @Test
    void shouldLetOneCommandChangeTheClusterAtATime() throws IOException {
        ClusterDirectory directory = ClusterDirectory.create(temp.resolve("data"));
        try (Closeable held = directory.lock()) {
            assertThatThrownBy(directory::lock)
                    .isInstanceOf(LocalClusterException.class)
                    .hasMessageContaining("another command");
        }
        directory.lock().close();
    }

    @Test
    void shouldKeepTheMediaDriversFilesApartFromAnotherClustersAndRemoveThem() throws IOException {
        ClusterDirectory one = ClusterDirectory.create(temp.resolve("one"));
        ClusterDirectory two = ClusterDirectory.create(temp.resolve("two"));
        assertThat(one.aeronDirectory()).isNotEqualTo(two.aeronDirectory());
        Files.createDirectories(one.aeronDirectory().resolve("publications"));

        one.deleteAeronDirectory();
        two.deleteAeronDirectory();

        assertThat(one.aeronDirectory()).doesNotExist();
    }

    private static String permissions(Path path) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
    }
}
