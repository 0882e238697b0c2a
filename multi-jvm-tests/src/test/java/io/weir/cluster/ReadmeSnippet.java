package io.weir.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A fenced block of the README, as a reader copies it.
 *
 * @param language what follows the fence: sh, js, java
 */
record ReadmeSnippet(String language, String text) {
    /** The first of its language in a section. */
    static ReadmeSnippet of(String section, String language) throws IOException {
        String readme = Files.readString(Path.of("..", "README.md"));
        Matcher body = Pattern.compile("^## " + section + "$(.*?)^## ", Pattern.MULTILINE | Pattern.DOTALL)
                .matcher(readme);
        if (!body.find()) {
            throw new IllegalStateException("the README has no section " + section);
        }
        Matcher block = Pattern.compile("^```" + language + "$\\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL)
                .matcher(body.group(1));
        if (!block.find()) {
            throw new IllegalStateException("no " + language + " in the README's section " + section);
        }
        return new ReadmeSnippet(language, block.group(1));
    }

    /** For brokers with other ports than those of {@code weir up}. */
    ReadmeSnippet with(int port, int instead) {
        return new ReadmeSnippet(language, text.replaceAll("\\b" + port + "\\b", Integer.toString(instead)));
    }

    /** Runs it from {@code directory}, with what this JVM has on its class path; its output goes to the file {@code output}. */
    Process run(Path directory, Path output) throws IOException {
        Path file = Files.writeString(Files.createDirectories(directory).resolve("Orders." + language), text);
        ProcessBuilder process =
                switch (language) {
                    case "sh" -> new ProcessBuilder("sh", "-e", file.toString());
                    case "js" -> new ProcessBuilder("node", file.toString());
                    case "java" ->
                        new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java")
                                        .toString(),
                                "-cp",
                                System.getProperty("java.class.path"),
                                file.toString());
                    default -> throw new IllegalArgumentException("nobody knows how to run " + language);
                };
        return process.directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
    }
}
