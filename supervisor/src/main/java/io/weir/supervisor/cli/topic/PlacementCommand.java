package io.weir.supervisor.cli.topic;

import io.weir.supervisor.cli.CliCommand;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.placement.PlacementView;
import io.weir.supervisor.placement.WhatIf;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code weir placement}: where publishers are at home, and why. */
@Command(
        name = "placement",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        description = {
            "Where topics' publishers are at home: the brokers at which their messages pass the limit.",
            "Topics are placed that a publisher registers for (CLIENTS.md), or all with weir.placement.enabled = on."
        },
        footer = {
            "",
            "Examples:",
            "  weir placement list",
            "  weir placement explain orders",
            "  weir placement plan --what-if load=2,more=1",
            "  weir placement objective orders 5",
            "  weir placement policy orders max-min"
        })
public final class PlacementCommand implements CliCommand {
    private static final String ALL = "/v1/placement";

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        throw new ParameterException(spec.commandLine(), "Which command? 'weir placement --help' lists them.");
    }

    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description = "Every broker's capacity, and every topic's parts with rate, quota, groups and p99.",
            footer = {
                "",
                "p99 is from a message's arrival at the cluster until a consumer, at any broker, had it, or could have had it:",
                "what placement can do something about. 'limit' is the part of it up to passing the limit. Messages that waited",
                "for a consumer are 'late', with the time until one had them.",
                "",
                "Example:",
                "  weir placement list -o json | jq '.topics[] | select(.state == \"KEPT_BEST\") | .topic'"
            })
    int list(@Mixin ClusterOption cluster, @Mixin Output output) {
        PlacementView all = all(cluster);
        if (output.json()) {
            output.printJson(all);
            return ExitCode.OK;
        }
        output.printf("policy %s, %d publishers, decided by %s%n%n", all.policy(), all.publishers(), all.decidedBy());
        if (all.brokers().isEmpty() && all.topics().isEmpty()) {
            output.println("nothing is placed: no publisher has registered by its rate or group (CLIENTS.md), and"
                    + " weir.placement.enabled is not on for all topics");
            return ExitCode.OK;
        }
        output.printf("%-12s %12s %12s %12s%n", "BROKER", "CAPACITY/S", "ALLOCATED", "ROOM");
        for (PlacementView.OfBroker broker : all.brokers()) {
            output.printf(
                    "%-12s %12.0f %12.0f %12.0f  %s%n",
                    broker.broker(),
                    broker.capacity(),
                    broker.allocated(),
                    broker.room(),
                    broker.overrated()
                            ? "carries less than it claims: calibrate it"
                            : broker.calibrated() ? "" : "not calibrated");
        }
        output.println("");
        output.printf("%-32s %-10s %10s %12s %9s  %s%n", "TOPIC", "STATE", "PUBLISHERS", "RATE/S", "P99 GOAL", "");
        for (PlacementView.OfTopic topic : all.topics()) {
            print(topic, output);
        }
        return ExitCode.OK;
    }

    private static PlacementView all(ClusterOption cluster) {
        List<PlacementView.OfTopic> topics = new ArrayList<>();
        PlacementView page = page(cluster, "");
        topics.addAll(page.topics());
        while (page.next() != null) {
            page = page(cluster, page.next());
            topics.addAll(page.topics());
        }
        return new PlacementView(page.policy(), page.decidedBy(), page.publishers(), page.brokers(), topics, null);
    }

    private static PlacementView page(ClusterOption cluster, String after) {
        return cluster.ask("GET", ALL + "?after=" + URLEncoder.encode(after, StandardCharsets.UTF_8), Optional.empty())
                .as(PlacementView.class);
    }

    private static void print(PlacementView.OfTopic topic, Output output) {
        String remark = topic.unplaced() > 0
                ? topic.unplaced() + " publishers have no place: " + Math.round(topic.unplacedRate()) + " msg/s"
                : topic.waiting() > 0
                        ? topic.waiting() + " publishers wait to be placed"
                        : topic.foundGroups() > 0 ? topic.foundGroups() + " groups found" : "";
        output.printf(
                "%-32s %-10s %10d %12.0f %6s ms  %s%n",
                topic.topic(),
                topic.state(),
                topic.publishers(),
                topic.rate(),
                TopicDescribeCommand.amount(topic.objectiveMs()),
                remark);
        for (PlacementView.OfPart part : topic.brokers()) {
            output.printf(
                    "  %-30s %-10s %10d %12.0f  quota %.0f, %d groups, p99 %s%s%s%s%n",
                    part.broker(),
                    "",
                    part.publishers(),
                    part.rate(),
                    part.quota(),
                    part.groups(),
                    part.measuredP99Ms() == null ? "not measured" : ms(part.measuredP99Ms()),
                    part.predictedP99Ms() == null ? "" : " (predicted " + ms(part.predictedP99Ms()) + ")",
                    part.accessP99Ms() == null ? "" : ", limit " + ms(part.accessP99Ms()),
                    part.lateP99Ms() == null
                            ? ""
                            : ", late " + TopicDescribeCommand.amount(part.lateRate()) + "/s, p99 "
                                    + ms(part.lateP99Ms()));
        }
    }

    private static String ms(double amount) {
        return TopicDescribeCommand.amount(amount) + " ms";
    }

    private static void printGroups(PlacementView.OfTopic topic, Output output) {
        if (topic.groups().isEmpty()) {
            return;
        }
        output.printf(
                "%n%-32s %-6s %10s %12s %10s %10s%n", "GROUP", "", "PUBLISHERS", "RATE/S", "TOGETHER", "PLACED BY");
        for (PlacementView.OfGroup group : topic.groups()) {
            output.printf(
                    "%-32s %-6s %10d %12.0f %10d %10d%n",
                    group.group(),
                    group.found() ? "found" : "told",
                    group.publishers(),
                    group.rate(),
                    group.together(),
                    group.placedBy());
        }
    }

    @Command(
            name = "explain",
            mixinStandardHelpOptions = true,
            description =
                    "Why a topic's publishers are where they are: every decision, with the numbers that were compared.",
            footer = {
                "",
                "GROUP lists the groups that publishers named (told) beside those that brokers found (found). TOGETHER: so many",
                "of them were found to send together. PLACED BY: so many are placed by that group; a named one wins.",
                "",
                "Example:",
                "  weir placement explain orders"
            })
    int explain(
            @Mixin ClusterOption cluster,
            @Mixin Output output,
            @Parameters(paramLabel = "TOPIC", description = "The topic.") String name) {
        PlacementView.OfTopic topic =
                cluster.ask("GET", topicPath(name), Optional.empty()).as(PlacementView.OfTopic.class);
        if (output.json()) {
            output.printJson(topic);
            return ExitCode.OK;
        }
        print(topic, output);
        output.printf(
                "%nrevision %d, decided by %s, by the policy %s, because: %s%n",
                topic.revision(), topic.decidedBy(), topic.policy(), topic.trigger());
        topic.reasons().forEach(reason -> output.println("  " + reason));
        printGroups(topic, output);
        if (!topic.refusals().isEmpty()) {
            output.println("what publishers said that can't be:");
            topic.refusals().forEach(refusal -> output.println("  " + refusal));
        }
        return ExitCode.OK;
    }

    @Command(
            name = "plan",
            mixinStandardHelpOptions = true,
            description = {
                "How publishers would be placed, if. Nothing is applied.",
                "Goes by rates and capacities alone: what measuring would find is not in it."
            },
            footer = {
                "",
                "Examples:",
                "  weir placement plan --what-if load=2              if all published twice as much",
                "  weir placement plan --what-if more=2,without=b3   with two brokers more, and without b3",
                "  weir placement plan --topic orders --what-if policy=lb,capacity=5000"
            })
    int plan(
            @Mixin ClusterOption cluster,
            @Mixin Output output,
            @Option(names = "--topic", paramLabel = "TOPIC", description = "Only this one, with every reason.")
                    String topic,
            @Option(
                            names = "--what-if",
                            split = ",",
                            paramLabel = "KEY=VALUE",
                            description =
                                    "load=TIMES, more=BROKERS, without=BROKER, capacity=MSG/S, policy=lb|conc|max-min|srtm; without"
                                            + " may be given several times.")
                    List<String> whatIf) {
        Map<String, Object> request = new HashMap<>();
        List<String> without = new ArrayList<>();
        if (topic != null) {
            request.put("topic", topic);
        }
        for (String each : whatIf == null ? List.<String>of() : whatIf) {
            put(each, request, without);
        }
        request.put("without", without);
        WhatIf.Plan plan =
                cluster.ask("POST", ALL + "/plan", Optional.of(request)).as(WhatIf.Plan.class);
        if (output.json()) {
            output.printJson(plan);
            return ExitCode.OK;
        }
        output.printf(
                "policy %s on %d brokers: %s%n",
                plan.policy(),
                plan.brokers(),
                plan.unplaced() == 0
                        ? "everybody has a place"
                        : plan.unplaced() + " publishers have none, " + Math.round(plan.unplacedRate()) + " msg/s");
        output.printf("%-32s %10s %12s %12s%n", "TOPIC", "PUBLISHERS", "RATE/S", "BROKERS");
        for (WhatIf.OfTopic each : plan.topics()) {
            output.printf(
                    "%-32s %10d %12.0f %5d → %d%n",
                    each.topic(), each.publishers(), each.rate(), each.brokersNow(), each.brokersThen());
            if (topic != null) {
                each.parts()
                        .forEach(part ->
                                output.printf("  %-30s %10d %12.0f%n", part.broker(), part.publishers(), part.rate()));
                each.reasons().forEach(reason -> output.println("  " + reason));
            }
        }
        return ExitCode.OK;
    }

    private static void put(String pair, Map<String, Object> request, List<String> without) {
        String[] parts = pair.split("=", 2);
        String value = parts.length == 2 ? parts[1] : "";
        try {
            switch (parts[0]) {
                case "load", "capacity" -> request.put(parts[0], Double.parseDouble(value));
                case "more" -> request.put("more", Integer.parseInt(value));
                case "without" -> without.add(value);
                case "policy" -> request.put("policy", value);
                default ->
                    throw CliException.usage(
                            "--what-if " + pair + ": there are load=, more=, without=, capacity= and policy=");
            }
        } catch (NumberFormatException e) {
            throw CliException.usage("--what-if " + pair + ": '" + value + "' is not a number");
        }
    }

    @Command(
            name = "objective",
            mixinStandardHelpOptions = true,
            description =
                    "The p99, in milliseconds, that a topic is placed for; 'usual' for weir.placement.objective again.",
            footer = {"", "Example:", "  weir placement objective orders 5"})
    int objective(
            @Mixin ClusterOption cluster,
            @Parameters(index = "0", paramLabel = "TOPIC", description = "The topic.") String name,
            @Parameters(index = "1", paramLabel = "MS", description = "Milliseconds, or 'usual'.") String p99) {
        String path = topicPath(name) + "/objective";
        if (p99.equals("usual")) {
            return TopicCommand.change(cluster, "DELETE", path, name + " is placed for the usual p99");
        }
        try {
            cluster.ask("PUT", path, Optional.of(Map.of("p99Ms", Double.parseDouble(p99))));
        } catch (NumberFormatException e) {
            throw CliException.usage("'" + p99 + "' is neither a number of milliseconds nor 'usual'");
        }
        System.out.println(name + " is placed for a p99 of " + p99 + " ms");
        return ExitCode.OK;
    }

    @Command(
            name = "policy",
            mixinStandardHelpOptions = true,
            description = {
                "The policy that a topic is placed by: lb, conc, max-min or srtm; 'usual' for weir.placement.policy again.",
                "A topic that was placed by another one is placed again."
            },
            footer = {"", "Example:", "  weir placement policy orders max-min"})
    int policy(
            @Mixin ClusterOption cluster,
            @Parameters(index = "0", paramLabel = "TOPIC", description = "The topic.") String name,
            @Parameters(index = "1", paramLabel = "POLICY", description = "Its policy, or 'usual'.") String policy) {
        String path = topicPath(name) + "/policy";
        if (policy.equals("usual")) {
            return TopicCommand.change(cluster, "DELETE", path, name + " is placed by the usual policy");
        }
        cluster.ask("PUT", path, Optional.of(Map.of("policy", policy)));
        System.out.println(name + " is placed by " + policy);
        return ExitCode.OK;
    }

    private static String topicPath(String name) {
        return ALL + "/topics/" + URLEncoder.encode(name, StandardCharsets.UTF_8);
    }
}
