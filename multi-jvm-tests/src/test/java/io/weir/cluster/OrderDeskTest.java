package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class OrderDeskTest {
    @Test
    void shouldBeWhatTheDocumentShows() throws IOException {
        String source = Files.readString(Path.of("src/test/java/io/weir/cluster/example/OrderDesk.java"));
        String shown = "```java\n" + source.substring(source.indexOf("/**")) + "```\n";

        assertThat(Files.readString(Path.of("../CLIENTS.md"))).contains(shown);
    }
}
