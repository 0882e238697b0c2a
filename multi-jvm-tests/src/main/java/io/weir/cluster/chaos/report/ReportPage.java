package io.weir.cluster.chaos.report;

import static io.weir.supervisor.chart.Markup.escaped;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.cluster.history.AdmissionCheck;
import io.weir.cluster.history.HeldShares;
import io.weir.cluster.history.History;
import io.weir.cluster.history.History.Traffic;
import io.weir.cluster.history.HistoryCheck;
import io.weir.cluster.history.Message;
import io.weir.cluster.history.Verdict;
import io.weir.cluster.history.Violation;
import io.weir.config.value.TopicName;
import io.weir.supervisor.chart.Markup;
import io.weir.supervisor.chart.TimeChart;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * The report of a history: the verdicts, the faults, and for each topic what was admitted against its limit, who had
 * how much of it and how long messages took, all over the same time. One file that needs no other, in light or dark as
 * the reader's system is; what is drawn is binned, so it stays small however long the history.
 */
public final class ReportPage {
    /** Topics that are drawn, those with the most messages; a page of hundreds is not read. */
    private static final int MOST_TOPICS = 12;

    private static final int COLOURS = 8;
    private static final int CHART = 190;
    private static final int LOW_CHART = 130;

    private final History history;
    private final HistoryCheck check;
    private final TimeBins bins;
    private final FaultBars faults;
    private final List<TopicCourse> topics = new ArrayList<>();
    private final List<String> brokers;
    private final Markup html = new Markup();
    private int undrawn;

    private ReportPage(History history, HistoryCheck check) {
        this.history = history;
        this.check = check;
        bins = TimeBins.over(history.firstNs(), history.lastNs());
        faults = new FaultBars(history, bins);
        AdmissionCheck admissions = check.admissions();
        List<HeldShares.Change> shares = HeldShares.of(history);
        Set<TopicName> all = new LinkedHashSet<>(admissions.topics());
        all.addAll(history.traffic().keySet());
        List<TopicName> most = all.stream()
                .sorted(Comparator.comparingLong((TopicName topic) -> -busy(topic))
                        .thenComparing(TopicName::value))
                .toList();
        most.stream()
                .limit(MOST_TOPICS)
                .forEach(topic -> topics.add(new TopicCourse(topic, history, admissions, shares, bins)));
        undrawn = Math.max(0, most.size() - MOST_TOPICS);
        Set<String> names =
                new TreeSet<>(Comparator.comparingInt(String::length).thenComparing(Comparator.naturalOrder()));
        topics.forEach(topic -> {
            names.addAll(topic.admitted().keySet());
            names.addAll(topic.held().keySet());
        });
        brokers = List.copyOf(names);
    }

    private long busy(TopicName topic) {
        return check.admissions().of(topic).size()
                + Optional.ofNullable(history.traffic().get(topic))
                        .map(Traffic::deliveries)
                        .orElse(0L);
    }

    /** Writes the page; what was there is replaced. */
    public static void write(History history, HistoryCheck check, Path file) throws IOException {
        if (file.toAbsolutePath().getParent() != null) {
            Files.createDirectories(file.toAbsolutePath().getParent());
        }
        Files.writeString(file, html(history, check));
    }

    static String html(History history, HistoryCheck check) {
        ReportPage page = new ReportPage(history, check);
        page.write();
        return page.html.toString();
    }

    private void write() {
        html.line("<!doctype html>%n<html lang='en'>%n<head>%n<meta charset='utf-8'>");
        html.line("<meta name='viewport' content='width=device-width, initial-scale=1'>");
        html.line("<title>Weir: %s</title>%n<style>", escaped(conclusion()));
        html.raw(resource("report.css"));
        html.line("</style>%n</head>%n<body>%n<main>");
        head();
        verdicts();
        timeLine();
        topics.forEach(this::topic);
        if (undrawn > 0) {
            html.line("<p class='note'>%d more topics with fewer messages are checked, but not drawn.</p>", undrawn);
        }
        html.line(
                "</main>%n<div id='values' hidden></div>%n<script type='application/json' id='data'>%s</script>",
                data());
        html.line("<script>");
        html.raw(resource("report.js"));
        html.line("</script>%n</body>%n</html>");
    }

    private String conclusion() {
        long violated = check.verdicts().stream().filter(Verdict::violated).count();
        long held = check.verdicts().stream().filter(Verdict::held).count();
        if (violated > 0) {
            return violated == 1 ? "one promise was broken" : violated + " promises were broken";
        }
        return held == 0
                ? "nothing could be checked"
                : held == 9 ? "every promise was kept" : "every checked promise was kept";
    }

    private void head() {
        boolean broken = check.verdicts().stream().anyMatch(Verdict::violated);
        String state = broken ? "bad" : check.held() ? "good" : "none";
        html.line("<header class='%s'>", state);
        html.line("<div class='sign'>%s</div>", broken ? "✗" : check.held() ? "✓" : "?");
        String words = conclusion();
        html.line("<div><h1>%s</h1>", escaped(words.substring(0, 1).toUpperCase(Locale.ROOT) + words.substring(1)));
        html.line("<p>%s</p></div>%n</header>", escaped(String.join(" · ", facts())));
    }

    private List<String> facts() {
        List<String> facts = new ArrayList<>();
        facts.add(TimeChart.time(Math.rint((history.lastNs() - history.firstNs()) / 1e9)));
        for (String name : List.of("seed", "brokers", "floor", "nemesis")) {
            Optional.ofNullable(history.setup().get(name)).ifPresent(value -> facts.add(name + " " + value));
        }
        if (!faults.spans().isEmpty()) {
            facts.add(number(faults.spans().size()) + " faults");
        }
        facts.add(number(topics.stream().mapToLong(TopicCourse::total).sum()) + " messages admitted");
        Collection<Traffic> traffic = history.traffic().values();
        long acknowledged = traffic.stream()
                .flatMap(each -> each.messages().values().stream())
                .filter(Message::isAcknowledged)
                .count();
        long deliveries = traffic.stream().mapToLong(Traffic::deliveries).sum();
        if (acknowledged + deliveries > 0) {
            facts.add(number(acknowledged) + " acknowledged");
            facts.add(number(deliveries) + " delivered, "
                    + number(traffic.stream().mapToLong(Traffic::duplicates).sum()) + " of them again");
        }
        return facts;
    }

    private void verdicts() {
        html.line("<section class='verdicts'>");
        for (Verdict verdict : check.verdicts()) {
            String state = verdict.violated() ? "bad" : verdict.held() ? "good" : "none";
            html.line(
                    "<article class='%s' title='%s'>",
                    state, escaped(verdict.invariant().meaning()));
            html.line(
                    "<h3><span class='sign'>%s</span> %s <b>%s</b> <em>%s</em></h3>",
                    verdict.violated() ? "✗" : verdict.held() ? "✓" : "–",
                    verdict.invariant(),
                    escaped(verdict.invariant().title()),
                    verdict.outcome().word());
            html.line("<p>%s</p>", escaped(verdict.text()));
            if (verdict.violated()) {
                html.line("<ul>");
                for (Violation violation : verdict.violations()) {
                    String at = violation
                            .window()
                            .map(window -> TimeChart.time(Math.rint(bins.seconds(window.fromNs()) * 10) / 10) + ": ")
                            .orElse("");
                    html.line("<li>%s%s</li>", escaped(at), escaped(violation.text()));
                }
                html.line("</ul>");
            }
            html.line("</article>");
        }
        html.line("</section>");
    }

    private void timeLine() {
        if (faults.isEmpty()) {
            return;
        }
        html.line("<section>%n<h2>What was done to it</h2>");
        html.raw(faults.svg());
        html.line("</section>");
    }

    /** Faults in the background, so that one sees what a curve answers to; phases and violations in front. */
    private void background(TimeChart chart) {
        faults.spans().forEach(span -> chart.band(span.from(), span.to(), "fault"));
    }

    private void foreground(TimeChart chart, TopicName topic) {
        history.phases().forEach(phase -> chart.moment(bins.seconds(phase.atNs()), "phase", phase.name(), 0));
        for (Verdict verdict : check.verdicts()) {
            int line = 1
                    + (int) check.verdicts().stream()
                            .limit(verdict.invariant().ordinal())
                            .filter(Verdict::violated)
                            .count();
            for (Violation violation : verdict.violations()) {
                violation
                        .window()
                        .filter(window -> window.topic().equals(topic))
                        .ifPresent(window -> {
                            chart.band(bins.seconds(window.fromNs()), bins.seconds(window.toNs()), "broken");
                            chart.moment(
                                    bins.seconds(window.fromNs()),
                                    "broken",
                                    verdict.invariant().name(),
                                    line);
                        });
            }
        }
    }

    private void topic(TopicCourse course) {
        String name = course.topic().value();
        html.line("<section data-topic='%d'>%n<h2>%s</h2>", topics.indexOf(course), escaped(name));
        if (!course.admitted().isEmpty()) {
            html.line(
                    "<h4>admitted, messages a second over %s, by broker %s<span class='key limit'>limit r</span>"
                            + "<span class='key most'>most that %s may hold, b included</span></h4>",
                    TimeChart.time(bins.widthSeconds()),
                    legend(course.admitted().keySet()),
                    TimeChart.time(bins.widthSeconds()));
            double most = Math.max(sum(course.admitted()), highest(course.limit()));
            // A small bin may hold a burst far above the rate; the line of what it may is drawn where it does not
            // flatten the rest.
            double[] bound = course.most();
            double boundTop = highest(bound);
            TimeChart chart =
                    TimeChart.linear(bins.span(), CHART, boundTop <= 2 * most ? Math.max(most, boundTop) : most);
            background(chart);
            chart.stacked(inOrder(course.admitted()), styles());
            if (boundTop <= 2 * most) {
                chart.line(bound, "most", true);
            }
            chart.line(course.limit(), "limit", true);
            foreground(chart, course.topic());
            html.raw(chart.svg("admitted rate of " + name));
        }
        if (!course.held().isEmpty()) {
            html.line(
                    "<h4>each broker's share of the limit, as the store's journals say %s</h4>",
                    course.admitted().isEmpty() ? legend(course.held().keySet()) : "");
            TimeChart chart =
                    TimeChart.linear(bins.span(), LOW_CHART, Math.max(sum(course.held()), highest(course.limit())));
            background(chart);
            chart.stacked(inOrder(course.held()), styles()).line(course.limit(), "limit", true);
            html.raw(chart.svg("shares of " + name));
        }
        if (course.hasLatency()) {
            html.line(
                    "<h4>from publish to first delivery, ms <span class='key p50'>median %s</span>"
                            + "<span class='key p99'>99%% %s</span><span class='key max'>longest %s</span></h4>",
                    number(course.latencyMs(50)), number(course.latencyMs(99)), number(course.latencyMs(100)));
            TimeChart chart =
                    TimeChart.logarithmic(bins.span(), LOW_CHART, lowest(course.median()), highest(course.highest()));
            background(chart);
            chart.line(course.highest(), "max", false)
                    .line(course.high(), "p99", false)
                    .line(course.median(), "p50", false);
            html.raw(chart.svg("delivery latency of " + name));
        }
        html.line("</section>");
    }

    private List<double[]> inOrder(Map<String, double[]> byBroker) {
        return brokers.stream()
                .map(broker -> byBroker.getOrDefault(broker, new double[bins.count()]))
                .toList();
    }

    private List<String> styles() {
        return brokers.stream().map(this::style).toList();
    }

    private String style(String broker) {
        return "area c" + brokers.indexOf(broker) % COLOURS;
    }

    private String legend(Set<String> drawn) {
        StringBuilder keys = new StringBuilder();
        brokers.stream().filter(drawn::contains).forEach(broker -> keys.append("<span class='key ")
                .append(style(broker))
                .append("'>")
                .append(escaped(broker))
                .append("</span>"));
        return keys.toString();
    }

    private double sum(Map<String, double[]> byBroker) {
        double most = 0;
        for (int bin = 0; bin < bins.count(); bin++) {
            double all = 0;
            for (double[] values : byBroker.values()) {
                all += values[bin];
            }
            most = Math.max(most, all);
        }
        return most;
    }

    private static double highest(double[] values) {
        return Arrays.stream(values).filter(value -> !Double.isNaN(value)).max().orElse(0);
    }

    private static double lowest(double[] values) {
        return Arrays.stream(values).filter(value -> !Double.isNaN(value)).min().orElse(1);
    }

    /** What the pointer shows. */
    private String data() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("bins", bins.count());
        all.put("seconds", bins.widthSeconds());
        all.put("left", TimeChart.LEFT / (double) TimeChart.WIDTH);
        all.put("right", TimeChart.RIGHT / (double) TimeChart.WIDTH);
        all.put("width", TimeChart.WIDTH);
        all.put("topics", topics.stream().map(this::data).toList());
        try {
            // So that no name in it can end the script.
            return new ObjectMapper().writeValueAsString(all).replace("<", "\\u003c");
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("the report's values can't be written", e);
        }
    }

    private Map<String, Object> data(TopicCourse course) {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("admitted", rounded(course.admitted()));
        all.put("held", rounded(course.held()));
        all.put("limit", rounded(course.limit()));
        all.put("p50", rounded(course.median()));
        all.put("p99", rounded(course.high()));
        return all;
    }

    private Map<String, List<Double>> rounded(Map<String, double[]> byBroker) {
        Map<String, List<Double>> all = new LinkedHashMap<>();
        brokers.stream()
                .filter(byBroker::containsKey)
                .forEach(broker -> all.put(broker, rounded(byBroker.get(broker))));
        return all;
    }

    private static List<Double> rounded(double[] values) {
        return Arrays.stream(values)
                .mapToObj(value -> Double.isNaN(value) ? null : Math.rint(value * 10) / 10)
                .toList();
    }

    private static String number(double value) {
        if (value != 0 && Math.abs(value) < 10 && value != Math.rint(value)) {
            return Double.toString(Math.rint(value * 1_000) / 1_000);
        }
        return String.format(Locale.ROOT, "%,d", Math.round(value));
    }

    private static String resource(String name) {
        try (InputStream found = ReportPage.class.getResourceAsStream(name)) {
            return new String(found.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
