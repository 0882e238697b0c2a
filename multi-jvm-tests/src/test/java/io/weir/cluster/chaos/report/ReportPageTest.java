package io.weir.cluster.chaos.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.cluster.history.History;
import io.weir.cluster.history.HistoryCheck;
import io.weir.cluster.history.HistoryWriter;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import io.weir.supervisor.chart.TimeChart;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

class ReportPageTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int MOST_BYTES = 1_000_000;

    @TempDir
    private Path directory;

    private String page(Consumer<HistoryWriter> writes) throws IOException {
        Path file = directory.resolve("history.jsonl");
        try (HistoryWriter writer = new HistoryWriter(file)) {
            writes.accept(writer);
        }
        History history = History.read(file);
        Path page = directory.resolve("deep/report.html");
        ReportPage.write(history, HistoryCheck.of(history), page);
        return Files.readString(page);
    }

    private static void admit(HistoryWriter writer, String broker, long atNs) {
        writer.admitted(new Admission(new BrokerId(broker), 1, new TopicName("orders"), atNs, 1, false, 1));
    }

    private static void run(HistoryWriter writer, int seconds, int perSecond) {
        writer.setup(0, Map.of("seed", 42));
        writer.limit(0, "orders", perSecond, 1);
        writer.channel(0, "orders", "audit");
        for (long i = 0; i < (long) seconds * perSecond; i++) {
            long atNs = i * (SECOND / perSecond) + 1;
            admit(writer, "b" + i % 3, atNs);
            writer.publish(atNs, "p", i, HistoryWriter.Outcome.invoke, "orders", "m" + i, "b1", null);
            writer.publish(atNs + 1, "p", i, HistoryWriter.Outcome.ok, "orders", "m" + i, "b1", null);
            writer.delivered(atNs + 3_000_000, "c", "orders", "audit", "m" + i, 1, null);
        }
    }

    /** Every picture as a browser's parser would want it. */
    private static List<Element> pictures(String page) {
        Matcher matcher = Pattern.compile("<svg.*?</svg>", Pattern.DOTALL).matcher(page);
        return matcher.results()
                .map(found -> {
                    try {
                        return DocumentBuilderFactory.newInstance()
                                .newDocumentBuilder()
                                .parse(new ByteArrayInputStream(found.group().getBytes(StandardCharsets.UTF_8)))
                                .getDocumentElement();
                    } catch (Exception e) {
                        throw new AssertionError("no XML: " + found.group(), e);
                    }
                })
                .toList();
    }

    @Test
    void shouldShowFaultsRatesAndLatencyAndSayThatAllHeld() throws IOException {
        String page = page(writer -> {
            run(writer, 60, 10);
            writer.nemesis(10 * SECOND, "kill", "start", "b2", List.of("b2"));
            writer.nemesis(20 * SECOND, "kill", "end", "b2", List.of("b2"));
            writer.broker(10 * SECOND, "b2", false);
            writer.broker(21 * SECOND, "b2", true);
            writer.phase(5 * SECOND, "chaos");
        });

        assertThat(page).contains("Every checked promise was kept", "seed 42", "kill: b2", "600 messages admitted");
        assertThat(pictures(page))
                .extracting(picture -> picture.getAttribute("aria-label"))
                .containsExactly("faults over time", "admitted rate of orders", "delivery latency of orders");
        NodeList bars = pictures(page).get(0).getElementsByTagName("rect");
        double from = Double.parseDouble(((Element) bars.item(0)).getAttribute("x"));
        double width = Double.parseDouble(((Element) bars.item(0)).getAttribute("width"));
        double second = (TimeChart.WIDTH - TimeChart.LEFT - TimeChart.RIGHT) / 60.25;
        assertThat(from).isBetween(TimeChart.LEFT + 9.9 * second, TimeChart.LEFT + 10.1 * second);
        assertThat(width).isBetween(9.9 * second, 10.1 * second);
    }

    @Test
    void shouldShowWhereAPromiseWasBroken() throws IOException {
        String page = page(writer -> {
            run(writer, 10, 10);
            admit(writer, "b1", 5 * SECOND + 1);
        });

        assertThat(page).contains("One promise was broken", "2 messages within 0 ns");
        NodeList marks = pictures(page).get(0).getElementsByTagName("line");
        assertThat(marks.getLength()).isPositive();
        assertThat(page).contains("class='broken'");
    }

    @Test
    void shouldNeedNothingFromElsewhereAndLetNoNameIntoItsMarkup() throws IOException {
        String evil = "</script><img src=x onerror=alert(1)>'\"&";
        String page = page(writer -> {
            run(writer, 5, 10);
            writer.nemesis(SECOND, evil, "start", evil, List.of(evil));
            writer.broker(SECOND, evil, false);
            writer.phase(SECOND, evil);
        });

        assertThat(page).doesNotContain("<img", "http:", "https:", "@import", "url(");
        assertThat(page).doesNotContainPattern("<[^>]*\\b(src|href)=");
        assertThat(page.split("</script>"))
                .as("the page's two scripts end, and no other")
                .hasSize(3);
        assertThat(pictures(page)).hasSize(3);
    }

    @Test
    void shouldStaySmallWhateverTheLengthOfAHistory() throws IOException {
        String brief = page(writer -> run(writer, 10, 20));
        String lasting = page(writer -> {
            run(writer, 3_000, 20);
            for (int i = 0; i < 400; i++) {
                writer.nemesis(i * 7 * SECOND, "pause", "start", "b1 stands still", List.of("b1"));
                writer.nemesis((i * 7 + 20) * SECOND, "pause", "end", "", List.of("b1"));
            }
        });

        assertThat(brief.length()).isLessThan(MOST_BYTES / 10);
        assertThat(lasting.length()).isLessThan(MOST_BYTES);
    }

    @Test
    void shouldDrawHistoriesOfAlmostNothing() throws IOException {
        assertThat(page(writer -> writer.phase(7, "warm"))).contains("Nothing could be checked");
        assertThat(page(writer -> admit(writer, "b1", 7))).contains("admitted rate of orders");
        assertThat(page(writer -> {})).contains("Nothing could be checked");
    }

    @Test
    void shouldChooseRoundBinsThatCoverAllOfIt() {
        for (long seconds : new long[] {0, 1, 59, 3_600, 86_400, 10_000_000, 1_000_000_000}) {
            TimeBins bins = TimeBins.over(-5, seconds * SECOND);
            assertThat(bins.count()).as("%d s", seconds).isBetween(1, 240);
            assertThat(bins.beginNs(bins.count())).isGreaterThan(seconds * SECOND);
            assertThat(bins.of(seconds * SECOND)).isEqualTo(bins.count() - 1);
            assertThat(bins.of(Long.MIN_VALUE / 2)).isZero();
        }
    }
}
