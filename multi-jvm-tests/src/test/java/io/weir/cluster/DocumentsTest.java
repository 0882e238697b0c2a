package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
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

    /** A class in a text. Names of one word, such as Channel, are not looked for: they are words, too. */
    private static final Pattern CLASS = Pattern.compile("\\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\\b");

    private static final Pattern TYPE = Pattern.compile("\\b(?:class|interface|record|enum) ([A-Z]\\w+)");

    private static final Pattern NAME = Pattern.compile("`([A-Za-z]+(?:\\.[A-Za-z]+)*)`");

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

    /** Packages and classes, also of one word: path.Channel, supply.gate, cli. */
    @Test
    void shouldShowOnTheMapWhatIsThere() throws IOException {
        List<String> places =
                sources().map(path -> path.toString().replace(".java", "")).toList();
        String readme = Files.readString(ROOT.resolve("README.md"));
        assertThat(matches(NAME, readme.substring(readme.indexOf("## The map"), readme.indexOf("## Read on"))))
                .hasSizeGreaterThan(50)
                .extracting(name -> name.group(1))
                .allSatisfy(name -> assertThat(places)
                        .as(name)
                        .anyMatch(place -> place.endsWith("/" + name) || place.endsWith("/" + name.replace('.', '/'))));
    }

    @Test
    void shouldNameClassesThatExist() throws IOException {
        Set<String> types = new HashSet<>();
        for (Path source :
                sources().filter(path -> path.toString().endsWith(".java")).toList()) {
            matches(TYPE, Files.readString(source)).forEach(type -> types.add(type.group(1)));
        }
        List<String> missing = new ArrayList<>();
        for (Path document : documents()) {
            if (!document.endsWith("CHANGELOG.md")) {
                String prose = PROGRAM.matcher(Files.readString(document)).replaceAll("");
                matches(CLASS, prose).stream()
                        .map(MatchResult::group)
                        .filter(name -> !types.contains(name))
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

    /** Everything below a module's src, packages included. */
    private static Stream<Path> sources() throws IOException {
        List<Path> sources = new ArrayList<>();
        try (Stream<Path> modules = Files.list(ROOT)) {
            for (Path module : modules.filter(path -> Files.isDirectory(path.resolve("src")))
                    .toList()) {
                try (Stream<Path> paths = Files.walk(module.resolve("src"))) {
                    paths.forEach(sources::add);
                }
            }
        }
        return sources.stream();
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
