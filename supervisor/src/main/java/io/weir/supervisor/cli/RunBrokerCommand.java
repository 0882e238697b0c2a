package io.weir.supervisor.cli;

import io.weir.config.Endpoint;
import io.weir.config.SettingsException;
import io.weir.config.SettingsLoader;
import io.weir.supervisor.cli.client.BrokerCalibrateCommand;
import io.weir.supervisor.local.ClusterStatus.Expected;
import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.node.BrokerProcess;
import io.weir.supervisor.node.StartException;
import java.nio.file.Path;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code weir broker}: one broker in the foreground, and what can be done to one. */
@Command(
        name = "broker",
        mixinStandardHelpOptions = true,
        subcommands = {BrokerCalibrateCommand.class, ConfirmStoppedCommand.class},
        description = {
            "Run one broker in the foreground, as a container or a service manager would.",
            "Settings come from the file; an environment variable overrides any key: weir.http.port is WEIR_HTTP_PORT."
        },
        footer = {
            "",
            "Examples:",
            "  weir broker --config /etc/weir/broker.conf",
            "  WEIR_BROKER_ID=b1 WEIR_STORE_URL=jdbc:postgresql://db/weir weir broker --config broker.conf",
            "  weir broker stop b2        b2 of the last 'weir up' leaves the cluster and ends"
        })
public final class RunBrokerCommand implements CliCommand {
    @Option(
            names = "--config",
            paramLabel = "FILE",
            description = "Settings (HOCON); without it, environment and defaults only.")
    private Path config;

    @Override
    public Integer call() {
        try {
            BrokerProcess.run(SettingsLoader.load(Optional.ofNullable(config), System.getenv()));
            return ExitCode.OK;
        } catch (SettingsException e) {
            throw CliException.usage(e.getMessage());
        } catch (StartException e) {
            throw CliException.unavailable(e.getMessage());
        }
    }

    @Command(
            name = "stop",
            mixinStandardHelpOptions = true,
            description = {
                "Let one broker leave the cluster and end.",
                "Where the cluster has an admin token, it is read from WEIR_HTTP_ADMIN_TOKEN."
            },
            footer = {
                "",
                "Examples:",
                "  weir broker stop b2        of the last 'weir up'",
                "  weir broker stop b2 --http 10.0.0.7:4151"
            })
    int stop(
            @Mixin ClusterOption cluster,
            @Parameters(paramLabel = "ID", description = "The broker, as 'weir status' names it.") String id) {
        Expected broker = cluster.expectedBrokers().stream()
                .filter(candidate -> candidate.id().equals(id))
                .findFirst()
                .orElseThrow(() -> CliException.usage("there is no broker " + id + ": 'weir status' lists them"));
        int answer = new BrokerClient(Endpoint.parse(broker.http()))
                .stop(Optional.ofNullable(System.getenv("WEIR_HTTP_ADMIN_TOKEN")))
                .join()
                .orElseThrow(() -> CliException.unavailable(id + " does not answer at " + broker.http()));
        if (answer == 401) {
            throw CliException.unavailable(id + " wants the admin token: set WEIR_HTTP_ADMIN_TOKEN");
        }
        System.out.println(id + " leaves the cluster");
        return ExitCode.OK;
    }
}
