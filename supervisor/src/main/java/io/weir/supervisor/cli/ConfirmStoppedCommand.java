package io.weir.supervisor.cli;

import io.weir.config.Endpoint;
import io.weir.config.SettingsException;
import io.weir.config.SettingsLoader;
import io.weir.config.WeirSettings;
import io.weir.config.value.BrokerId;
import io.weir.limiter.supply.value.Holder;
import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.node.DataDirectory;
import io.weir.supervisor.node.StartException;
import io.weir.supervisor.store.BrokerRegistry;
import io.weir.supervisor.store.BrokerRegistry.RegisteredBroker;
import io.weir.supervisor.store.StoreException;
import io.weir.supervisor.store.SupplyTables;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code weir broker confirm-stopped}. */
@Command(
        name = "confirm-stopped",
        mixinStandardHelpOptions = true,
        description = {
            "Confirm that a broker's process has ended, so that the others inherit all that it held, at once.",
            "With --config: for a service manager's stop hook, after the process has ended. The lock of the"
                    + " data directory proves it. 'weir up' does the same for the brokers that it started.",
            "With ID and --incarnation: on your word, for when the data directory is lost. If that process still runs,"
                    + " cut off somewhere, the limit is no longer hard. Be sure."
        },
        footer = {
            "",
            "Examples:",
            "  weir broker confirm-stopped --config /etc/weir/broker.conf",
            "  weir broker confirm-stopped b2 --incarnation 7"
        })
final class ConfirmStoppedCommand implements Callable<Integer> {
    @Option(
            names = "--config",
            paramLabel = "FILE",
            description = "The settings file with which a broker of this machine was started.")
    private Path config;

    @Parameters(paramLabel = "ID", arity = "0..1", description = "The broker, as 'weir status' names it.")
    private String id;

    @Option(
            names = "--incarnation",
            paramLabel = "N",
            description = "Which incarnation (life of its process), as in 'weir status' and the logs.")
    private Long incarnation;

    @Mixin
    private ClusterOption cluster;

    @Override
    public Integer call() {
        if (config != null && id == null && incarnation == null && !cluster.isGiven()) {
            return proven();
        }
        if (config != null || id == null || incarnation == null) {
            throw CliException.usage("either --config FILE alone, or a broker's ID with --incarnation N");
        }
        cluster.ask("POST", path(id, incarnation), Optional.empty());
        System.out.println("what " + id + "#" + incarnation + " held will be inherited");
        return ExitCode.OK;
    }

    private int proven() {
        try {
            WeirSettings settings =
                    SettingsLoader.load(Optional.of(config), System.getenv()).settings();
            BrokerId broker = settings.broker().id();
            long former = formerHolder(settings.broker().dataDir());
            if (former == 0) {
                System.out.println(broker + " holds nothing: it has said itself that it stopped, or never began");
                return ExitCode.OK;
            }
            try (SupplyTables tables =
                            new SupplyTables(settings.store(), settings.store().statementTimeout());
                    BrokerRegistry registry = new BrokerRegistry(settings.store())) {
                tables.stop(new Holder(broker, former));
                boolean heard = registry.brokers().stream()
                        .filter(other -> other.running() && !other.id().equals(broker))
                        .anyMatch(other -> notified(other, path(broker.value(), former), settings));
                System.out.println(broker + "#" + former + " has stopped; "
                        + (heard
                                ? "the others inherit what it held"
                                : "no other broker answers that could inherit it now"));
            }
            return ExitCode.OK;
        } catch (SettingsException e) {
            throw CliException.usage(e.getMessage());
        } catch (StartException | StoreException e) {
            throw CliException.unavailable(e.getMessage());
        }
    }

    private static long formerHolder(Path directory) {
        try (DataDirectory former = DataDirectory.lock(directory)) {
            return former.lastHolder();
        }
    }

    /**
     * Whether this broker took the notice. It then makes the others look at the store at once, not at their next turn.
     */
    private static boolean notified(RegisteredBroker broker, String path, WeirSettings settings) {
        return new BrokerClient(Endpoint.parse(broker.http())
                        .reachedAt(Endpoint.parse(broker.clusterAddress()).host()))
                .ask("POST", path, Optional.empty(), settings.http().adminToken())
                .join()
                .filter(BrokerClient.Answer::ok)
                .isPresent();
    }

    private static String path(String broker, long incarnation) {
        return "/v1/brokers/" + broker + "/" + incarnation + "/stopped";
    }
}
