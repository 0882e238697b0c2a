package io.weir.limiter.specification;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The TLA+ modules of the supply protocol and what is to be checked of them, as their own files say it. A configuration
 * {@code X.cfg} belongs to the module whose name it begins with. Its comments hold what TLC does not read:
 *
 * <pre>
 *   \* broken: RULE violates INVARIANT [with NAME = VALUE, ...]     without the rule, this invariant must not hold
 *   \* larger: NAME = VALUE, ...                                     for whoever has the time
 * </pre>
 *
 * The comment above an action says what it stands for, by one of the words of {@link Kind}.
 */
final class Specification {
    static final Path FOLDER = Path.of("src", "main", "tla");

    /** What an action stands for; {@code text} is how its comment says so. */
    enum Kind {
        /** Methods that carry it out follow, {@code Class.method} or {@code Class.NestedType}. */
        CODE("code:"),
        /** A fault, or time, or somebody outside. */
        WORLD("world:"),
        /** A rule for code that is still to be written. */
        NOT_BUILT("not built:"),
        /** Happens only where a rule is left out. */
        BROKEN("broken:"),
        /** Used by other actions. */
        PART("part:");

        private final String text;

        Kind(String text) {
            this.text = text;
        }
    }

    record Action(String module, String name, Kind kind, String text) {
        /** The methods that it names. */
        List<String> methods() {
            return kind == Kind.CODE ? List.of(text.split(",\\s*")) : List.of();
        }
    }

    /**
     * One run of TLC.
     *
     * @param rule the rule that is left out; empty for the specification as it is
     * @param violated the invariant that must not hold then; empty if all must
     * @param text of the configuration file for it
     */
    record Run(String module, String configuration, Optional<String> rule, Optional<String> violated, String text) {
        String name() {
            return configuration + rule.map(left -> " without " + left).orElse("");
        }
    }

    private static final Pattern DEFINITION = Pattern.compile("^([A-Z]\\w*)(?:\\([^)]*\\))? *==.*");
    private static final Pattern PRIMED = Pattern.compile("\\w'");
    private static final Pattern BROKEN =
            Pattern.compile("^\\\\\\* broken: (\\w+) violates (\\w+)(?: with (.*))?$", Pattern.MULTILINE);
    private static final Pattern LARGER = Pattern.compile("^\\\\\\* larger: (.*)$", Pattern.MULTILINE);

    private Specification() {}

    static List<String> modules() {
        return names(".tla");
    }

    /** Everything in a module that changes a variable, with the comment above it; no kind if that says none. */
    static List<Action> actions(String module) {
        List<String> lines = read(FOLDER.resolve(module + ".tla")).lines().toList();
        List<Action> actions = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            Matcher definition = DEFINITION.matcher(lines.get(i));
            if (definition.matches() && changes(lines, i)) {
                actions.add(action(module, definition.group(1), lines, i));
            }
        }
        return actions;
    }

    private static boolean changes(List<String> lines, int from) {
        for (int i = from; i < lines.size() && !lines.get(i).isBlank(); i++) {
            if (i > from && DEFINITION.matcher(lines.get(i)).matches()) {
                return false;
            }
            if (PRIMED.matcher(lines.get(i).replaceAll("\\\\\\*.*", "")).find()) {
                return true;
            }
        }
        return false;
    }

    private static Action action(String module, String name, List<String> lines, int at) {
        for (int i = at - 1; i >= 0 && lines.get(i).startsWith("\\*"); i--) {
            String comment = lines.get(i).substring(2).strip();
            for (Kind kind : Kind.values()) {
                if (comment.startsWith(kind.text)) {
                    return new Action(
                            module,
                            name,
                            kind,
                            comment.substring(kind.text.length()).strip());
                }
            }
        }
        return new Action(module, name, null, "");
    }

    /** The specification as it is, once for each configuration, and once for each rule that is left out. */
    static List<Run> runs(boolean larger) {
        List<Run> runs = new ArrayList<>();
        for (String configuration : names(".cfg")) {
            String text = read(FOLDER.resolve(configuration + ".cfg"));
            String module = modules().stream()
                    .filter(configuration::startsWith)
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException("no module for " + configuration + ".cfg"));
            Matcher large = LARGER.matcher(text);
            if (larger) {
                while (large.find()) {
                    runs.add(new Run(
                            module,
                            configuration + " (" + large.group(1) + ")",
                            Optional.empty(),
                            Optional.empty(),
                            with(text, assignments(large.group(1)))));
                }
                continue;
            }
            runs.add(new Run(module, configuration, Optional.empty(), Optional.empty(), text));
            Matcher broken = BROKEN.matcher(text);
            while (broken.find()) {
                runs.add(without(broken.group(1), broken.group(2), broken.group(3), module, configuration, text));
            }
        }
        return runs;
    }

    private static Run without(
            String rule, String invariant, String values, String module, String configuration, String text) {
        Map<String, String> changed = values == null ? new LinkedHashMap<>() : assignments(values);
        changed.put("Broken", "{\"" + rule + "\"}");
        return new Run(
                module,
                configuration,
                Optional.of(rule),
                Optional.of(invariant),
                with(text, changed).replaceAll("(?m)^INVARIANTS .*$", "INVARIANTS " + invariant));
    }

    private static Map<String, String> assignments(String text) {
        Map<String, String> values = new LinkedHashMap<>();
        for (String assignment : text.split(",(?![^{]*})")) {
            String[] sides = assignment.split("=");
            values.put(sides[0].strip(), sides[1].strip());
        }
        return values;
    }

    private static String with(String configuration, Map<String, String> values) {
        String text = configuration;
        for (Map.Entry<String, String> value : values.entrySet()) {
            String line = "(?m)^  " + value.getKey() + " = .*$";
            if (!Pattern.compile(line).matcher(text).find()) {
                throw new IllegalStateException("no constant " + value.getKey() + " in\n" + configuration);
            }
            text = text.replaceAll(line, Matcher.quoteReplacement("  " + value.getKey() + " = " + value.getValue()));
        }
        return text;
    }

    private static List<String> names(String suffix) {
        try (Stream<Path> files = Files.list(FOLDER)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(suffix))
                    .map(name -> name.substring(0, name.length() - suffix.length()))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
