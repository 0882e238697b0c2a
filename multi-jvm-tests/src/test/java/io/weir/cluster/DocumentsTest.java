package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The documents beside the root pom: a reader who follows a link or looks for a class that they name finds it. */
class DocumentsTest {
    private static final Path ROOT = Path.of("..");
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)#:]*)(?:#([^)]*))?\\)");
    private static final Pattern HEADING = Pattern.compile("^#+ (.*)$", Pattern.MULTILINE);
    /** A fenced block with a language: what is in it is somebody's program, not a map of ours. */
    private static final Pattern PROGRAM = Pattern.compile("^```[a-z]+$.*?^```$", Pattern.MULTILINE | Pattern.DOTALL);

    /** As the map writes a class: TopicGate, supply.gate.TopicGate. Names of one word, such as Channel, are not looked for. */
    private static final Pattern CLASS = Pattern.compile("\\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\\b");

    @Test
    void shouldLinkToWhatIsThere() throws IOException {
        List<String> broken = new ArrayList<>();
        for (Path document : documents()) {
            for (MatchResult link : matches(LINK, Files.readString(document))) {
                Path target = link.group(1).isEmpty() ? document : ROOT.resolve(link.group(1));
                if (!Files.exists(target)
                        || link.group(2) != null && !anchors(target).contains(link.group(2))) {
                    broken.add(document.getFileName() + ": " + link.group());
                }
            }
        }
        assertThat(broken).isEmpty();
    }

    @Test
    void shouldNameClassesThatExist() throws IOException {
        Set<String> classes = classes();
        List<String> missing = new ArrayList<>();
        for (Path document : documents()) {
            if (!document.endsWith("CHANGELOG.md")) {
                String prose = PROGRAM.matcher(Files.readString(document)).replaceAll("");
                matches(CLASS, prose).stream()
                        .map(MatchResult::group)
                        .filter(name -> !classes.contains(name))
                        .forEach(name -> missing.add(document.getFileName() + ": " + name));
            }
        }
        assertThat(missing).isEmpty();
    }

    private static List<Path> documents() throws IOException {
        try (Stream<Path> files = Files.list(ROOT)) {
            List<Path> documents = files.filter(file -> file.toString().endsWith(".md"))
                    .sorted()
                    .toList();
            assertThat(documents).contains(ROOT.resolve("README.md"));
            return documents;
        }
    }

    private static Set<String> classes() throws IOException {
        try (Stream<Path> files = Files.find(
                ROOT, 20, (file, attributes) -> file.toString().matches(".*/src/(main|test)/java/.*\\.java"))) {
            return files.map(file -> file.getFileName().toString().replace(".java", ""))
                    .collect(Collectors.toSet());
        }
    }

    /** As a reader's browser makes them of headings. */
    private static Set<String> anchors(Path document) throws IOException {
        return matches(HEADING, Files.readString(document)).stream()
                .map(heading -> heading.group(1)
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\p{L}\\p{N} -]", "")
                        .replace(' ', '-'))
                .collect(Collectors.toSet());
    }

    private static List<MatchResult> matches(Pattern pattern, String text) {
        return pattern.matcher(text).results().toList();
    }
}
