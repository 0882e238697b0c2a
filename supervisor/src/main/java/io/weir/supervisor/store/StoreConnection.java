package io.weir.supervisor.store;

import io.weir.config.WeirSettings.StoreSettings;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection to the store on a thread of its own: a store that hangs costs a caller the time-out, never more, and
 * after any error the connection is thrown away. Callers that come while the thread is busy wait in a bounded queue,
 * within their time-out; when it is full they are refused at once.
 *
 * <p>A call that timed out while it waited is never carried out. One that had begun may still be committed: its outcome
 * is unknown.
 *
 * <p>The thread itself is free again after about the time-out, which bounds every read.
 */
final class StoreConnection implements AutoCloseable {
    /**
     * A transaction may wait so long for its next statement; milliseconds. {@code weir-akka.conf} has the same for
     * journals.
     */
    static final int ABANDONED_MS = 2_000;

    private static final Logger LOG = LoggerFactory.getLogger(StoreConnection.class);
    private static final int QUEUE = 64;
    private static final Duration CLOSE_PATIENCE = Duration.ofSeconds(1);

    /** Work on an open connection, which it commits itself. */
    interface Work<T> {
        T on(Connection opened) throws SQLException;
    }

    private final StoreSettings settings;
    private final Duration timeout;
    private final ThreadPoolExecutor thread;
    // Touched by the own thread only.
    private Connection connection;

    /** @param name of the thread */
    StoreConnection(StoreSettings settings, String name, Duration timeout) {
        if (timeout.toMillis() < 1) {
            throw new IllegalArgumentException("a time-out of " + timeout + " leaves the store no time to answer");
        }
        this.settings = settings;
        this.timeout = timeout;
        thread = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(QUEUE), task -> {
            Thread worker = new Thread(task, name);
            worker.setDaemon(true);
            return worker;
        });
    }

    <T> T call(Work<T> work) {
        FutureTask<T> answer = new FutureTask<>(() -> {
            try {
                if (connection == null || connection.isClosed()) {
                    connection = open();
                }
                return work.on(connection);
            } catch (SQLException | RuntimeException e) {
                // What it did not commit must not be committed with the next call's work.
                dropConnection();
                throw e;
            }
        });
        submit(answer);
        try {
            return answer.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof StoreException known) {
                throw known;
            }
            throw new StoreException("the store refused: " + e.getCause().getMessage(), e.getCause());
        } catch (TimeoutException e) {
            giveUp(answer);
            throw new StoreException("the store did not answer within " + timeout.toMillis() + " ms", e);
        } catch (InterruptedException e) {
            giveUp(answer);
            Thread.currentThread().interrupt();
            throw new StoreException("interrupted while waiting for the store", e);
        }
    }

    private void submit(FutureTask<?> answer) {
        try {
            thread.execute(answer);
        } catch (RejectedExecutionException e) {
            throw new StoreException(
                    thread.isShutdown()
                            ? "the store is not asked any more: this broker has stopped"
                            : "the store is slow: " + QUEUE + " calls wait for it already");
        }
    }

    private void giveUp(FutureTask<?> answer) {
        answer.cancel(true);
        thread.remove(answer);
    }

    private Connection open() throws SQLException {
        Properties properties = new Properties();
        if (!settings.user().isEmpty()) {
            // Otherwise they are in the URL.
            properties.setProperty("user", settings.user());
            properties.setProperty("password", settings.password());
        }
        // Whole seconds, where 0 would mean for ever; rounded down, an answer that is still in time would be cut off.
        String seconds = Long.toString((timeout.toMillis() + 999) / 1000);
        properties.setProperty("connectTimeout", seconds);
        properties.setProperty("socketTimeout", seconds);
        properties.setProperty("ApplicationName", "weir");
        // A broker that is cut off or stopped in the middle of a transaction would keep its locks, and heirs would wait
        // for them.
        properties.setProperty("options", "-c idle_in_transaction_session_timeout=" + ABANDONED_MS);
        Connection opened = DriverManager.getConnection(settings.url(), properties);
        try {
            opened.setAutoCommit(false);
            // For an open connection the time-out is exact to the millisecond.
            opened.setNetworkTimeout(Runnable::run, (int) Math.min(Integer.MAX_VALUE, timeout.toMillis()));
            return opened;
        } catch (SQLException e) {
            opened.close();
            throw e;
        }
    }

    private void dropConnection() {
        if (connection != null) {
            try {
                connection.close();
            } catch (SQLException e) {
                LOG.debug("A broken connection did not close: {}", e.toString());
            }
            connection = null;
        }
    }

    @Override
    public void close() {
        if (thread.isShutdown()) {
            return;
        }
        try {
            thread.submit(this::dropConnection).get(CLOSE_PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException | RejectedExecutionException e) {
            LOG.debug("A connection to the store did not close: {}", e.toString());
        }
        thread.shutdownNow();
    }

    /** SQL's class 23: a row with that key is already there. */
    static boolean isDuplicate(SQLException e) {
        return e.getSQLState() != null && e.getSQLState().startsWith("23");
    }
}
