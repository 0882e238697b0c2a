package io.weir.limiter.specification;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limiter.specification.Specification.Action;
import io.weir.limiter.specification.Specification.Kind;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Every action of the specification names what carries it out, and everything that the protocol takes as an input is
 * named by an action. Classes are found by their simple names, so they may move.
 */
class SpecificationCodeTest {
    /** What a class takes as inputs: those of its methods, or the types nested in it, that an action must name. */
    private record Inputs(String type, Predicate<Method> methods) {}

    private static final List<Inputs> INPUTS = List.of(
            new Inputs(
                    "Bookkeeper",
                    method -> method.getGenericReturnType().getTypeName().contains("Effect")),
            new Inputs("LeaseRow", method -> makes(method, "LeaseRow")),
            // How a row is read or written, not what becomes of it.
            new Inputs(
                    "LimitRow",
                    method -> makes(method, "LimitRow") && !method.getName().equals("by")),
            new Inputs("Lending", method -> method.getParameterCount() > 0),
            new Inputs("LeaseWatch", method -> !Modifier.isStatic(method.getModifiers())),
            new Inputs("Lease", method -> method.getReturnType() == void.class),
            new Inputs("Gate", method -> Set.of("take", "confirm", "add", "remove", "reset")
                    .contains(method.getName())),
            new Inputs("Retention", method -> true),
            new Inputs("Ledger", method -> method.getName().equals("apply")));

    private static final String STEPS = "Inheritance";

    private static boolean makes(Method method, String type) {
        String made = method.getGenericReturnType().getTypeName();
        return made.endsWith("." + type) || made.endsWith("." + type + ">");
    }

    /** Not what only the class itself calls, nor what a flawed variant of it overrides. */
    private static boolean isInput(int modifiers) {
        return !Modifier.isPrivate(modifiers) && !Modifier.isProtected(modifiers);
    }

    private static Stream<Action> actions() {
        return Specification.modules().stream().flatMap(module -> Specification.actions(module).stream());
    }

    @Test
    void shouldSayOfEveryActionWhatItStandsFor() {
        assertThat(actions()).hasSizeGreaterThan(60);
        assertThat(actions()
                        .filter(action -> action.kind() == null || action.text().isEmpty()))
                .as("actions whose comment does not say what they stand for")
                .isEmpty();
    }

    @Test
    void shouldNameMethodsThatExist() throws Exception {
        Set<String> missing = new TreeSet<>();
        for (Action action : actions().toList()) {
            for (String named : action.methods()) {
                String[] parts = named.split("\\.");
                Class<?> type = type(parts[0]);
                if (type == null || parts.length != 2 || !has(type, parts[1])) {
                    missing.add(action.module() + "." + action.name() + " names " + named);
                }
            }
        }
        assertThat(missing).isEmpty();
    }

    @Test
    void shouldHaveAnActionForEveryInputOfTheProtocol() throws Exception {
        Set<String> named = new LinkedHashSet<>();
        actions().forEach(action -> named.addAll(action.methods()));
        Set<String> unnamed = new TreeSet<>();
        for (Inputs inputs : INPUTS) {
            Class<?> type = type(inputs.type);
            assertThat(type).as(inputs.type).isNotNull();
            List<String> methods = Arrays.stream(type.getDeclaredMethods())
                    .filter(method -> isInput(method.getModifiers()) && !method.isSynthetic())
                    .filter(inputs.methods)
                    .map(method -> inputs.type + "." + method.getName())
                    .distinct()
                    .toList();
            assertThat(methods).as("inputs of " + inputs.type).isNotEmpty();
            methods.stream().filter(method -> !named.contains(method)).forEach(unnamed::add);
        }
        for (Class<?> step : type(STEPS).getDeclaredClasses()[0].getPermittedSubclasses()) {
            String name = STEPS + "." + step.getSimpleName();
            if (!named.contains(name)) {
                unnamed.add(name);
            }
        }
        assertThat(unnamed).as("inputs that no action names").isEmpty();
    }

    /** What is specified and not built is a short list on purpose: whoever builds one names it in the module. */
    @Test
    void shouldKnowWhatIsNotBuilt() {
        assertThat(actions()
                        .filter(action -> action.kind() == Kind.NOT_BUILT)
                        .map(action -> action.module() + "." + action.name()))
                .containsExactlyInAnyOrder("Side.Hand", "Side.Take", "Side.Say");
    }

    private static boolean has(Class<?> type, String name) {
        return Arrays.stream(type.getDeclaredMethods())
                        .anyMatch(method -> method.getName().equals(name))
                || Arrays.stream(type.getDeclaredClasses())
                        .flatMap(nested -> Stream.concat(Stream.of(nested), Arrays.stream(nested.getDeclaredClasses())))
                        .anyMatch(nested -> nested.getSimpleName().equals(name));
    }

    private static Class<?> type(String simpleName) throws IOException, ClassNotFoundException {
        Path classes = Path.of("target", "classes");
        try (Stream<Path> files = Files.walk(classes)) {
            List<Path> found = files.filter(
                            file -> file.getFileName().toString().equals(simpleName + ".class"))
                    .toList();
            assertThat(found).as("classes named " + simpleName).hasSizeLessThanOrEqualTo(1);
            if (found.isEmpty()) {
                return null;
            }
            String name = classes.relativize(found.get(0)).toString();
            return Class.forName(
                    name.substring(0, name.length() - ".class".length()).replace('/', '.'));
        }
    }
}
