package io.weir.supervisor.cli.client;

import io.weir.supervisor.cli.CliException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import picocli.CommandLine.Option;

/**
 * What a client command shows to brokers that ask for a secret, as a picocli mixin. In a file: others see a command's
 * line.
 */
public final class ClientSecret {
    @Option(
            names = "--secret-file",
            paramLabel = "FILE",
            description = "Holds the secret that brokers ask for (their weir.tcp.auth), alone on its first line.")
    private Path file;

    /** Empty if none is given. */
    public Optional<String> read() {
        if (file == null) {
            return Optional.empty();
        }
        try {
            String secret =
                    Files.readString(file).lines().findFirst().orElse("").strip();
            if (secret.isEmpty()) {
                throw CliException.usage("--secret-file: the first line of " + file + " is empty");
            }
            return Optional.of(secret);
        } catch (IOException e) {
            throw CliException.usage("--secret-file: " + file + " can't be read: " + e);
        }
    }
}
