package io.weir.supervisor.cli.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

class LabProgressTest {
    private final StringWriter err = new StringWriter();
    private long nowNs = Long.MAX_VALUE - 5; // wraps at once: differences must still be right

    @Test
    void shouldRewriteOneLineWhenOnATerminal() {
        LabProgress progress = progress(LabProgress.Style.line);
        progress.start("drl-penalty", 1, 1);
        nowNs += 200_000_000;
        progress.at(5, 20, "k = 2");
        progress.clear();

        assertThat(err.toString())
                .isEqualTo("\r\033[Kdrl-penalty [....................]   0% "
                        + "\r\033[Kdrl-penalty [#####...............]  25% k = 2\r\033[K");
    }

    @Test
    void shouldWriteOnlyNowAndThenWhenNotOnATerminal() {
        LabProgress progress = progress(LabProgress.Style.plain);
        progress.start("drl-penalty", 2, 12);
        for (int second = 1; second <= 25; second++) {
            nowNs += 1_000_000_000;
            progress.at(second, 25, "seed " + second);
        }
        progress.clear();

        assertThat(err.toString().lines())
                .containsExactly(
                        "drl-penalty (2 of 12) 0%",
                        "drl-penalty (2 of 12) 40% seed 10", "drl-penalty (2 of 12) 80% seed 20");
    }

    @Test
    void shouldStayInItsLineWhenTheTextIsLong() {
        LabProgress progress = progress(LabProgress.Style.line);
        progress.start("x", 1, 1);
        nowNs += 1_000_000_000;
        progress.at(7, 0, "y".repeat(500));

        assertThat(err.toString().split("\r"))
                .allSatisfy(line -> assertThat(line).hasSizeLessThan(84));
    }

    @Test
    void shouldBeSilentWhenToldSo() {
        LabProgress progress = progress(LabProgress.Style.none);
        progress.start("x", 1, 1);
        nowNs += 100_000_000_000L;
        progress.at(1, 2, "y");
        progress.clear();

        assertThat(err.toString()).isEmpty();
    }

    private LabProgress progress(LabProgress.Style style) {
        return new LabProgress(new PrintWriter(err), style, () -> nowNs);
    }
}
