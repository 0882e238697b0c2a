package io.weir.supervisor.chart;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.weir.supervisor.chart.LineChart.Axis;
import io.weir.supervisor.chart.LineChart.Series;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.DoubleStream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

class LineChartTest {
    private static final Axis LINEAR = new Axis("x", false);
    private static final Axis LOGARITHMIC = new Axis("x", true);

    @Test
    void shouldPutPointsOnTheirTicksWhenAxesAreLinear() {
        Document svg = parse(chart(LINEAR, LINEAR, series("a", d(1, 2, 4), d(0, 10, 2.5))));
        Map<String, Double> x = ticks(svg, "axis-x", "x");
        Map<String, Double> y = ticks(svg, "axis-y", "y");
        double[] line = numbers(lines(svg).get(0).getAttribute("d"));

        assertThat(x.keySet()).containsExactly("1", "2", "3", "4");
        assertThat(line[0]).isEqualTo(x.get("1"), within(0.02));
        assertThat(line[1]).isEqualTo(y.get("0"), within(0.02));
        assertThat(line[2]).isEqualTo(x.get("2"), within(0.02));
        assertThat(line[3]).isEqualTo(y.get("10"), within(0.02));
        assertThat(line[4]).isEqualTo(x.get("4"), within(0.02));
        assertThat(line[5]).isEqualTo(0.75 * y.get("0") + 0.25 * y.get("10"), within(0.02));
    }

    @Test
    void shouldPutPointsOnTheirTicksWhenAxesAreLogarithmic() {
        Document svg = parse(chart(LOGARITHMIC, LOGARITHMIC, series("a", d(10, 100, 1000), d(0.01, 5, 100_000))));
        Map<String, Double> x = ticks(svg, "axis-x", "x");
        Map<String, Double> y = ticks(svg, "axis-y", "y");
        double[] line = numbers(lines(svg).get(0).getAttribute("d"));

        assertThat(x.keySet()).contains("10", "20", "50", "100", "1,000");
        assertThat(y.keySet()).containsExactly("0.01", "0.1", "1", "10", "100", "1,000", "10,000", "100,000");
        assertThat(line[0]).isEqualTo(x.get("10"), within(0.02));
        assertThat(line[2]).isEqualTo(x.get("100"), within(0.02));
        assertThat(line[4]).isEqualTo(x.get("1,000"), within(0.02));
        assertThat(line[1]).isEqualTo(y.get("0.01"), within(0.02));
        assertThat(line[3]).isEqualTo(y.get("1") + Math.log10(5) * (y.get("10") - y.get("1")), within(0.02));
        assertThat(line[5]).isEqualTo(y.get("100,000"), within(0.02));
    }

    @Test
    void shouldLeaveAGapWhenAValueCannotBeDrawn() {
        double[] xs = d(1, 2, 3, 4, 5, 6);
        String nan = lines(parse(chart(LINEAR, LINEAR, series("a", xs, d(1, 2, Double.NaN, 4, 5, 6)))))
                .get(0)
                .getAttribute("d");
        String zero = lines(parse(chart(LINEAR, LOGARITHMIC, series("a", xs, d(1, 2, 3, 0, 5, 6)))))
                .get(0)
                .getAttribute("d");

        assertThat(nan).matches("M[^M]*L[^ML]*M[^M]*L[^M]*L[^M]*");
        assertThat(numbers(nan)).hasSize(10);
        assertThat(zero).matches("M[^M]*L[^M]*L[^M]*M[^M]*L[^ML]*");
    }

    @Test
    void shouldMarkAPointWhenGapsLeaveItAlone() {
        Document svg = parse(chart(LINEAR, LINEAR, series("a", d(1, 2, 3), d(Double.NaN, 7, Double.NaN))));
        assertThat(lines(svg)).isEmpty();
        assertThat(children(group(svg, "series"), "circle")).hasSize(1);
    }

    @Test
    void shouldDrawThePapersSeriesDashedAndHollowInTheColourOfOurs() {
        Document svg = parse(chart(
                LINEAR,
                LINEAR,
                series("static", d(1, 2), d(1, 2)),
                series("static 2", d(1, 2), d(2, 3)),
                new Series("Static 2, measured", d(1, 2), d(2, 4), true),
                new Series("statics", d(1, 2), d(2, 5), true)));
        List<Element> lines = lines(svg);

        assertThat(lines)
                .extracting(line -> line.getAttribute("stroke-dasharray"))
                .containsExactly("", "", "7 4", "7 4");
        assertThat(lines.get(2).getAttribute("stroke")).isEqualTo(lines.get(1).getAttribute("stroke"));
        assertThat(lines.get(3).getAttribute("stroke"))
                .isNotIn(lines.get(0).getAttribute("stroke"), lines.get(1).getAttribute("stroke"));
        assertThat(children(group(svg, "series paper"), "polygon"))
                .extracting(marker -> marker.getAttribute("fill"))
                .containsOnly("none");
        assertThat(group(svg, "legend").getTextContent()).contains("statics (paper)");
    }

    @Test
    void shouldDrawWhatWasMeasuredAsHollowPointsInTheColourOfOurs() {
        Document svg = parse(chart(
                LINEAR,
                LINEAR,
                series("static", d(1, 2), d(1, 2)),
                series("gossip", d(1, 2), d(2, 3)),
                new Series("gossip, measured", d(1, 2), d(2, 4), LineChart.Origin.MEASURED)));
        List<Element> lines = lines(svg);

        assertThat(lines).as("points have no line").hasSize(2);
        assertThat(children(group(svg, "series measured"), "polygon"))
                .hasSize(2)
                .allSatisfy(marker -> {
                    assertThat(marker.getAttribute("fill")).isEqualTo("none");
                    assertThat(marker.getAttribute("stroke"))
                            .isEqualTo(lines.get(1).getAttribute("stroke"));
                });
        assertThat(group(svg, "legend").getTextContent())
                .contains("gossip, measured")
                .doesNotContain("(paper)");
    }

    @Test
    void shouldKeepTextAsItIsWhenItHoldsMarkup() {
        String odd = "<b> & \"c\" 'd' ]]> é \u0001";
        Document svg = parse(
                new LineChart("f", odd, new Axis(odd, false), new Axis(odd, false), List.of(series(odd, d(1), d(1)))));
        String shown = odd.replace('\u0001', '\uFFFD');

        assertThat(children(svg.getDocumentElement(), "title").get(0).getTextContent())
                .isEqualTo(shown);
        assertThat(children(group(svg, "series"), "title").get(0).getTextContent())
                .isEqualTo(shown);
        assertThat(group(svg, "legend").getTextContent().strip()).isEqualTo(shown);
    }

    @Test
    void shouldSaySoWhenThereIsNothingToDraw() {
        assertThat(parse(chart(LINEAR, LINEAR)).getDocumentElement().getTextContent())
                .contains("no data");
        Document zero = parse(chart(LINEAR, LOGARITHMIC, series("single", d(1, 2), d(0, 0)), series("none", d(), d())));
        assertThat(group(zero, "legend").getTextContent().replace('\u00A0', ' '))
                .contains("(0 throughout)", "none (no data)");
    }

    @Test
    void shouldThinOutALongLineButKeepItsExtremes() {
        int n = 200_000;
        double[] xs = new double[n];
        double[] ys = new double[n];
        Arrays.setAll(xs, i -> i);
        ys[123_456] = 1000;
        ys[123_457] = -500;
        double[] line = numbers(lines(parse(chart(LINEAR, LINEAR, series("spike", xs, ys))))
                .get(0)
                .getAttribute("d"));
        double[] y = new double[line.length / 2];
        Arrays.setAll(y, i -> line[2 * i + 1]);

        assertThat(line.length).isLessThan(8 * LinePicture.WIDTH);
        assertThat(DoubleStream.of(y).distinct().count())
                .as("zero, the spike up and the spike down")
                .isEqualTo(3);
    }

    @Test
    void shouldStayInsideThePictureWhateverTheValues() {
        double[] odd = {
            0,
            1,
            -1,
            1e-320,
            1e-9,
            0.1,
            0.3,
            1e5,
            12_345_678,
            1e9 + 1,
            1e9,
            -1e15,
            1e299,
            -1e308,
            Double.MAX_VALUE,
            Double.NaN,
            Double.POSITIVE_INFINITY,
            Double.NEGATIVE_INFINITY
        };
        for (long seed = 1; seed <= 1_000; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            List<Series> all = new ArrayList<>();
            for (int i = random.nextInt(random.nextInt(20) == 0 ? 60 : 4); i >= 0; i--) {
                int points = random.nextInt(4);
                all.add(new Series(
                        "series " + i, pick(random, odd, points), pick(random, odd, points), random.nextBoolean()));
            }
            LineChart chart = new LineChart(
                    "f", "t", new Axis("x", random.nextBoolean()), new Axis("y", random.nextBoolean()), all);
            String svg = chart.svg();
            assertThat(svg).as("seed %d", seed).doesNotContain("NaN", "Infinity");
            checkInside(parse(chart), seed);
        }
    }

    @Test
    void shouldLabelWithOneStepWhenTicksAreLinear() {
        assertThat(labels(0, 0.97, false)).containsExactly("0", "0.2", "0.4", "0.6", "0.8", "1.0");
        assertThat(labels(-3, 3, false)).containsExactly("−3", "−2", "−1", "0", "1", "2", "3");
        assertThat(labels(0, 4.2e7, false)).contains("0", "1×10⁷", "4×10⁷");
        assertThat(labels(2e-6, 9e-6, false)).contains("2×10⁻⁶", "8×10⁻⁶");
        assertThat(labels(1, 1e12, true)).contains("10⁰", "10⁴", "10¹²");
        assertThat(labels(12, 17, true)).containsExactly("10", "12", "14", "16", "18", "20");
    }

    private static List<String> labels(double low, double high, boolean logarithmic) {
        return Scale.over(d(low, high), logarithmic, Scale.Ends.ROUND, 8).ticks().stream()
                .map(Scale.Tick::label)
                .filter(label -> !label.isEmpty())
                .toList();
    }

    private static void checkInside(Document svg, long seed) {
        for (Element line : lines(svg)) {
            checkInside(numbers(line.getAttribute("d")), seed);
        }
        NodeList polygons = svg.getElementsByTagName("polygon");
        for (int i = 0; i < polygons.getLength(); i++) {
            checkInside(numbers(((Element) polygons.item(i)).getAttribute("points")), seed);
        }
        NodeList texts = svg.getElementsByTagName("text");
        for (int i = 0; i < texts.getLength(); i++) {
            Element text = (Element) texts.item(i);
            checkInside(numbers(text.getAttribute("x") + "," + text.getAttribute("y")), seed);
        }
    }

    private static void checkInside(double[] coordinates, long seed) {
        for (int i = 0; i < coordinates.length; i++) {
            assertThat(coordinates[i]).as("seed %d", seed).isBetween(0.0, (double)
                    (i % 2 == 0 ? LinePicture.WIDTH : LinePicture.HEIGHT));
        }
    }

    private static double[] pick(SplittableRandom random, double[] from, int count) {
        return random.ints(count, 0, from.length).mapToDouble(i -> from[i]).toArray();
    }

    private static LineChart chart(Axis x, Axis y, Series... series) {
        return new LineChart("file", "title", x, y, List.of(series));
    }

    private static Series series(String label, double[] xs, double[] ys) {
        return new Series(label, xs, ys, false);
    }

    private static double[] d(double... values) {
        return values;
    }

    private static Document parse(LineChart chart) {
        try {
            return DocumentBuilderFactory.newInstance()
                    .newDocumentBuilder()
                    .parse(new InputSource(new StringReader(chart.svg())));
        } catch (Exception e) {
            throw new AssertionError("not well-formed: " + chart.svg(), e);
        }
    }

    /** Each tick's label, and where its text stands along the axis; a y label hangs four pixels below its tick. */
    private static Map<String, Double> ticks(Document svg, String axis, String coordinate) {
        Map<String, Double> ticks = new LinkedHashMap<>();
        for (Element text : children(group(svg, axis), "text")) {
            double at = Double.parseDouble(text.getAttribute(coordinate));
            ticks.put(text.getTextContent(), axis.equals("axis-y") ? at - 4 : at);
        }
        return ticks;
    }

    private static List<Element> lines(Document svg) {
        List<Element> lines = new ArrayList<>();
        NodeList paths = svg.getElementsByTagName("path");
        for (int i = 0; i < paths.getLength(); i++) {
            if (((Element) paths.item(i)).getAttribute("class").equals("line")) {
                lines.add((Element) paths.item(i));
            }
        }
        return lines;
    }

    private static Element group(Document svg, String name) {
        return children(svg.getDocumentElement(), "g").stream()
                .filter(group -> group.getAttribute("class").equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static List<Element> children(Element parent, String tag) {
        List<Element> children = new ArrayList<>();
        for (Node node = parent.getFirstChild(); node != null; node = node.getNextSibling()) {
            if (node instanceof Element element && element.getTagName().equals(tag)) {
                children.add(element);
            }
        }
        return children;
    }

    private static double[] numbers(String path) {
        return Arrays.stream(path.split("[MLHVhv, ]+"))
                .filter(part -> !part.isEmpty())
                .mapToDouble(Double::parseDouble)
                .toArray();
    }
}
