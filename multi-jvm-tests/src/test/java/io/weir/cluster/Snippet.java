package io.weir.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A fenced block of one of the documents beside the root pom, as a reader copies it.
 *
 * @param language what follows the fence: sh, js, java
 */
record Snippet(String language, String text) {
    /** The first block of its language under a heading of the document. */
    static Snippet of(String document, String heading, String language) throws IOException {
        String text = Files.readString(Path.of("..", document));
        Matcher section = Pattern.compile("^#+ " + heading + "$(.*?)(?:^##+ |\\z)", Pattern.MULTILINE | Pattern.DOTALL)
                .matcher(text);
        if (!section.find()) {
            throw new IllegalStateException(document + " has no section " + heading);
        }
        Matcher block = Pattern.compile("^```" + language + "$\\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL)
                .matcher(section.group(1));
        if (!block.find()) {
            throw new IllegalStateException("no " + language + " in section " + heading + " of " + document);
        }
        return new Snippet(language, block.group(1));
    }

    /** For brokers with other ports than those of {@code weir up}. */
    Snippet with(int port, int instead) {
        return new Snippet(language, text.replaceAll("\\b" + port + "\\b", Integer.toString(instead)));
    }

    /**
     * Runs it from {@code directory}, with what this JVM has on its class path; its output goes to the file
     * {@code output}.
     */
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
