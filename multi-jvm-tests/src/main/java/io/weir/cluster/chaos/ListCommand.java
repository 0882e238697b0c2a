package io.weir.cluster.chaos;

import io.weir.cluster.chaos.Fault.Family;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code weir chaos list}: the catalogue of faults. */
@Command(
        name = "list",
        mixinStandardHelpOptions = true,
        description = "What each fault is, and what it needs of the machine.",
        footer = {"", "Examples:", "  weir chaos list", "  weir chaos list -o json"})
final class ListCommand implements Callable<Integer> {
    @Mixin
    private Output output;

    @Override
    public Integer call() {
        if (output.json()) {
            output.printJson(
                    Arrays.stream(Fault.values()).map(ListCommand::json).toList());
            return ExitCode.OK;
        }
        for (Family family : Family.values()) {
            output.println(family.toString());
            for (Fault fault : Fault.values()) {
                if (fault.family() == family) {
                    output.printf("  %-20s %s%n", fault, fault.sentence());
                }
            }
        }
        output.println("");
        output.println("weir chaos --nemesis FAMILY or --nemesis FAULT chooses, several with commas.");
        return ExitCode.OK;
    }

    private static Map<String, Object> json(Fault fault) {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("fault", fault.toString());
        all.put("family", fault.family().toString());
        all.put("explanation", fault.sentence());
        all.put("needs", fault.needs().stream().map(Means::toString).collect(Collectors.toList()));
        all.put("leastBrokers", fault.leastBrokers());
        return all;
    }
}
