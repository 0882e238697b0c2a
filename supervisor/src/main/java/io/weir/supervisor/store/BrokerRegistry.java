package io.weir.supervisor.store;

import io.weir.config.Endpoint;
import io.weir.config.WeirSettings;
import io.weir.config.WeirSettings.StoreSettings;
import io.weir.config.value.BrokerId;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.LongFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who the brokers are: one row each in the store, with the number of the life it is in. The store hands incarnations
 * out, so that none ever repeats, whatever becomes of a broker's own disk.
 *
 * <p>A call waits for the statement time-out at most; see {@link StoreConnection}. It does not use the journal's pool,
 * which may be busy.
 */
public final class BrokerRegistry implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BrokerRegistry.class);
    private static final Duration RETRY_EVERY = Duration.ofMillis(100);

    /** A broker as the store knows it. */
    public record RegisteredBroker(
            BrokerId id,
            long incarnation,
            String tcp,
            String http,
            String clusterAddress,
            String link,
            long pid,
            boolean running) {
        /** Where clients reach it. A broker that listens everywhere is reached where the other brokers reach it. */
        public Endpoint clientsAt() {
            return Endpoint.parse(tcp).reachedAt(Endpoint.parse(clusterAddress).host());
        }
    }

    /** Who founded a cluster last: the claim's number goes up with every founding. */
    public record Founding(long number, BrokerId broker, long incarnation) {}

    private final StoreSettings settings;
    private final StoreConnection store;

    public BrokerRegistry(StoreSettings settings) {
        this.settings = settings;
        store = new StoreConnection(settings, "weir-registry", settings.statementTimeout());
    }

    /** Waits until the store answers and has its tables; gives up with the reason after the start time-out. */
    public void awaitStore() {
        awaitStore(() -> false);
    }

    /** The same, until {@code givenUp}: false if that came first. */
    public boolean awaitStore(BooleanSupplier givenUp) {
        long deadlineNs = System.nanoTime() + settings.startTimeout().toNanos();
        boolean logged = false;
        while (!givenUp.getAsBoolean()) {
            try {
                store.call(opened -> {
                    StoreSchema.ensure(opened);
                    checkDurable(opened);
                    return null;
                });
                return true;
            } catch (StoreException e) {
                if (e.getCause() == null) {
                    throw e;
                }
                if (isRefusedLogin(e)) {
                    throw new StoreException("the store at " + settings.safeUrl() + " refuses user '" + settings.user()
                            + "' (" + reason(e) + "): are weir.store.user and password right?");
                }
                if (System.nanoTime() - deadlineNs > 0) {
                    throw new StoreException("the store at " + settings.safeUrl() + " did not answer within "
                            + settings.startTimeout().toSeconds() + " s (" + reason(e)
                            + "): is it running, and are"
                            + " weir.store.url, user and password right?");
                }
                if (!logged) {
                    LOG.debug("Waiting for the store at {}: {}", settings.safeUrl(), reason(e));
                    logged = true;
                }
            }
            pause();
        }
        return false;
    }

    /** As this user at this database has it; both may be set apart from the server. */
    private void checkDurable(Connection opened) throws SQLException {
        String commit = shown(opened, "synchronous_commit");
        boolean loses = commit.equals("off")
                || commit.equals("local")
                        && !shown(opened, "synchronous_standby_names").isEmpty();
        opened.rollback();
        if (!loses) {
            return;
        }
        String problem = "the store at " + settings.safeUrl() + " has synchronous_commit = " + commit
                + ", so it can lose what it has acknowledged, and limits would not hold after that";
        if (!settings.mayLoseCommits()) {
            throw new StoreException(
                    problem + ": set synchronous_commit = on for user '" + settings.user()
                            + "' (ALTER ROLE … SET synchronous_commit = on), or weir.store.may-lose-commits = on if that is meant");
        }
        LOG.warn("{} (weir.store.may-lose-commits is on)", problem);
    }

    private static String shown(Connection opened, String setting) throws SQLException {
        try (Statement statement = opened.createStatement();
                ResultSet rows = statement.executeQuery("SHOW " + setting)) {
            rows.next();
            return rows.getString(1);
        }
    }

    /**
     * Begins a new life of a broker: the next incarnation, written before anyone can use it.
     *
     * @param link how the others link to it in that life, in words that only they need to understand
     */
    public long nextIncarnation(WeirSettings broker, LongFunction<String> link) {
        String id = broker.broker().id().value();
        return store.call(opened -> {
            insertIfMissing(opened, id);
            try (PreparedStatement next = opened.prepareStatement(
                            "UPDATE weir_broker SET incarnation = incarnation + 1 WHERE id = ? RETURNING incarnation");
                    PreparedStatement update = opened.prepareStatement(
                            "UPDATE weir_broker SET tcp = ?, http = ?, cluster_address = ?, link = ?, pid = ?,"
                                    + " running = TRUE WHERE id = ?")) {
                next.setString(1, id);
                long incarnation;
                try (ResultSet rows = next.executeQuery()) {
                    rows.next();
                    incarnation = rows.getLong(1);
                }
                update.setString(1, broker.tcp().toString());
                update.setString(2, broker.http().address().toString());
                update.setString(3, broker.cluster().address().toString());
                update.setString(4, link.apply(incarnation));
                update.setLong(5, ProcessHandle.current().pid());
                update.setString(6, id);
                update.executeUpdate();
                opened.commit();
                return incarnation;
            }
        });
    }

    /** If two brokers insert at once, one of them finds the row there already, which is just as good. */
    private static void insertIfMissing(Connection opened, String id) throws SQLException {
        try (PreparedStatement insert = opened.prepareStatement(
                "INSERT INTO weir_broker (id, incarnation, tcp, http, cluster_address, link, pid, running)"
                        + " SELECT ?, 0, '', '', '', '', 0, FALSE WHERE NOT EXISTS (SELECT 1 FROM weir_broker WHERE id = ?)")) {
            insert.setString(1, id);
            insert.setString(2, id);
            insert.executeUpdate();
            opened.commit();
        } catch (SQLException e) {
            opened.rollback();
            if (!StoreConnection.isDuplicate(e)) {
                throw e;
            }
        }
    }

    /** Stores that a life has ended in good order. A later life of the same broker is not changed. */
    public void markStopped(BrokerId id, long incarnation) {
        store.call(opened -> {
            try (PreparedStatement update = opened.prepareStatement(
                    "UPDATE weir_broker SET running = FALSE WHERE id = ? AND incarnation = ?")) {
                update.setString(1, id.value());
                update.setLong(2, incarnation);
                update.executeUpdate();
                opened.commit();
                return null;
            }
        });
    }

    public List<RegisteredBroker> brokers() {
        return store.call(opened -> {
            List<RegisteredBroker> brokers = new ArrayList<>();
            try (PreparedStatement select = opened.prepareStatement(
                            "SELECT id, incarnation, tcp, http, cluster_address, link, pid, running FROM weir_broker ORDER BY id");
                    ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    brokers.add(new RegisteredBroker(
                            new BrokerId(rows.getString(1)),
                            rows.getLong(2),
                            rows.getString(3),
                            rows.getString(4),
                            rows.getString(5),
                            rows.getString(6),
                            rows.getLong(7),
                            rows.getBoolean(8)));
                }
            }
            opened.commit();
            return brokers;
        });
    }

    /** The last claim to have founded {@code cluster}. */
    public Optional<Founding> founding(String cluster) {
        return store.call(opened -> {
            try (PreparedStatement select = opened.prepareStatement(
                    "SELECT number, broker, incarnation FROM weir_founding WHERE cluster = ?")) {
                select.setString(1, cluster);
                try (ResultSet rows = select.executeQuery()) {
                    Optional<Founding> founding = rows.next()
                            ? Optional.of(
                                    new Founding(rows.getLong(1), new BrokerId(rows.getString(2)), rows.getLong(3)))
                            : Optional.empty();
                    opened.commit();
                    return founding;
                }
            }
        });
    }

    /** Claims to found {@code cluster} after {@code before}; false if somebody else has claimed since. */
    public boolean claimFounding(String cluster, Optional<Founding> before, BrokerId broker, long incarnation) {
        return store.call(opened -> {
            String sql = before.isPresent()
                    ? "UPDATE weir_founding SET number = ?, broker = ?, incarnation = ? WHERE cluster = ? AND number = ?"
                    : "INSERT INTO weir_founding (number, broker, incarnation, cluster) VALUES (?, ?, ?, ?)";
            try (PreparedStatement claim = opened.prepareStatement(sql)) {
                claim.setLong(1, before.map(Founding::number).orElse(0L) + 1);
                claim.setString(2, broker.value());
                claim.setLong(3, incarnation);
                claim.setString(4, cluster);
                if (before.isPresent()) {
                    claim.setLong(5, before.get().number());
                }
                boolean claimed = claim.executeUpdate() == 1;
                opened.commit();
                return claimed;
            } catch (SQLException e) {
                opened.rollback();
                if (StoreConnection.isDuplicate(e)) {
                    return false;
                }
                throw e;
            }
        });
    }

    @Override
    public void close() {
        store.close();
    }

    /** SQL's class 28: waiting does not help. */
    private static boolean isRefusedLogin(StoreException e) {
        return e.getCause() instanceof SQLException refused
                && refused.getSQLState() != null
                && refused.getSQLState().startsWith("28");
    }

    private static String reason(StoreException e) {
        return e.getCause() instanceof TimeoutException
                ? "no answer"
                : firstLine(e.getCause().getMessage());
    }

    private static String firstLine(String text) {
        return text == null
                ? "no reason given"
                : text.lines().findFirst().orElse("").strip();
    }

    private static void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(RETRY_EVERY.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new StoreException("interrupted while waiting for the store", e);
        }
    }
}
