package io.weir.supervisor.cli.lab;

import io.weir.supervisor.lab.LabRun;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Shows on standard error how far an experiment is: one line that is rewritten in place on a terminal, and elsewhere a
 * new line now and then, so that a log shows life without filling up. Safe to tell from several threads.
 */
final class LabProgress implements LabRun.Progress {
    /** Where progress is shown, and how. */
    enum Style {
        auto,
        line,
        plain,
        none
    }

    private static final long REWRITE_NS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long PLAIN_NS = TimeUnit.SECONDS.toNanos(10);
    private static final int BAR = 20;
    /** A rewritten line must not wrap, or it would leave its remains behind. */
    private static final int WIDEST = 79;

    private final PrintWriter err;
    private final Style style;
    private final LongSupplier clockNs;
    private String experiment = "";
    private long shownNs;
    private boolean dirty;

    LabProgress(PrintWriter err, Style style, LongSupplier clockNs) {
        this.err = err;
        this.style = style != Style.auto ? style : System.console() != null ? Style.line : Style.plain;
        this.clockNs = clockNs;
    }

    synchronized void start(String name, int position, int count) {
        experiment = count == 1 ? name : String.format(Locale.ROOT, "%s (%d of %d)", name, position, count);
        show(0, "");
    }

    @Override
    public synchronized void at(int done, int total, String what) {
        if (clockNs.getAsLong() - shownNs >= (style == Style.line ? REWRITE_NS : PLAIN_NS)) {
            show(total <= 0 ? 0 : Math.min(1, Math.max(0, done / (double) total)), what);
        }
    }

    private void show(double part, String what) {
        shownNs = clockNs.getAsLong();
        if (style == Style.plain) {
            err.println(String.format(Locale.ROOT, "%s %.0f%% %s", experiment, 100 * part, what)
                    .stripTrailing());
        } else if (style == Style.line) {
            int filled = (int) Math.round(part * BAR);
            String bar = "#".repeat(filled) + ".".repeat(BAR - filled);
            String text = String.format(Locale.ROOT, "%s [%s] %3.0f%% %s", experiment, bar, 100 * part, what);
            err.print("\r\033[K" + text.substring(0, Math.min(WIDEST, text.length())));
            dirty = true;
        }
        err.flush();
    }

    /** Takes the rewritten line away, so that what follows starts on a clean one. */
    synchronized void clear() {
        if (dirty) {
            err.print("\r\033[K");
            err.flush();
            dirty = false;
        }
    }
}
