package io.weir.limiter.workflow.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.weir.limiter.workflow.algorithm.ShardRates.Knob;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Wisp, 4.1.2: w1, w2 and w3 enter at a1 with 100 requests a second each, and load (e1, e2) with (400, 400), (100, 100)
 * and (0, 100); every process has a capacity of 500. Fig. 3 is a picture; here a1 leads to b1, b1 to c1 and c2, and
 * those to e1 and e2, with amplifications that give the text's loads. Headroom and probe are off: the paper's have none
 * in this example.
 */
class PaperExampleTest {
    private static final double CAPACITY = 500;
    private static final int W1 = 1;
    private static final int W2 = 2;
    private static final int W3 = 3;

    private static final class Process {
        final int topic;
        final int broker;
        final Resource resource;
        final ShardRates rates;
        final Amplification amplification = new Amplification(64, 0);
        final Announced announced = new Announced(64);
        final List<Process> downstream = new ArrayList<>();
        final double[][] alphas = new double[4][2];
        final double[] load = new double[4];

        Process(int topic, int broker, Knob knob) {
            this.topic = topic;
            this.broker = broker;
            resource = new Resource(topic * 10 + broker, 1);
            rates = new ShardRates(knob, new BottleneckFairness(0), List.of(resource), 64);
        }

        Process to(Process next, double... alphasFromW1) {
            for (int w = W1; w <= W3; w++) {
                alphas[w][downstream.size()] = alphasFromW1[w - 1];
            }
            downstream.add(next);
            return this;
        }

        double offered() {
            return rates.offered(W1) + rates.offered(W2) + rates.offered(W3);
        }
    }

    /** All six, the entry first and the leaves last. */
    private static List<Process> processes(Knob knob) {
        Process a1 = new Process(1, 1, knob);
        Process b1 = new Process(2, 1, knob);
        Process c1 = new Process(3, 1, knob);
        Process c2 = new Process(3, 2, knob);
        Process e1 = new Process(5, 1, knob);
        Process e2 = new Process(5, 2, knob);
        a1.to(b1, 2, 1, 1);
        b1.to(c1, 1, 1, 0).to(c2, 1, 0, 1);
        c1.to(e1, 1, 1, 0).to(e2, 1, 1, 0);
        c2.to(e1, 1, 0, 0).to(e2, 1, 0, 1);
        return List.of(a1, b1, c1, c2, e1, e2);
    }

    private static List<Process> converged(Knob knob) {
        List<Process> processes = processes(knob);
        for (int i = 1; i <= 40; i++) {
            step(processes, i * ShardRates.INTERVAL_NS);
        }
        return processes;
    }

    private static void step(List<Process> processes, long nowNs) {
        processes.forEach(process -> java.util.Arrays.fill(process.load, 0));
        Process entry = processes.get(0);
        for (int w = W1; w <= W3; w++) {
            entry.rates.arrived(w, 10);
            entry.load[w] = Math.min(100, entry.rates.sigma(w));
        }
        for (Process process : processes) {
            for (int w = W1; w <= W3; w++) {
                process.amplification.finished(0, w, (int) Math.round(process.load[w]), nowNs);
                for (int d = 0; d < process.downstream.size(); d++) {
                    Process next = process.downstream.get(d);
                    double flow = process.load[w] * process.alphas[w][d];
                    next.load[w] += flow;
                    if (flow > 0) {
                        long edge = Edge.of(0, w, next.topic, next.broker);
                        process.amplification.published(edge, (int) Math.round(flow), nowNs);
                        double alpha = process.amplification.alpha(edge);
                        next.rates.offered(w, process.topic, process.broker, process.rates.offered(w) * alpha);
                    }
                }
            }
        }
        for (int i = processes.size() - 1; i >= 0; i--) {
            Process process = processes.get(i);
            process.resource.measured(CAPACITY, true, CAPACITY, 0, process.offered() > CAPACITY + 1e-6);
            for (Process next : process.downstream) {
                for (int w = W1; w <= W3; w++) {
                    Announcement announcement = next.rates.announcement(w, process.topic, process.broker, 0, 0);
                    process.announced.heard(w, next.topic, next.broker, announcement);
                }
            }
            process.rates.interval(process.amplification, process.announced, nowNs);
        }
    }

    private static double idle(Process process) {
        return CAPACITY - process.load[W1] - process.load[W2] - process.load[W3];
    }

    private static double dropped(Process process) {
        double dropped = 0;
        for (int w = W1; w <= W3; w++) {
            dropped += Math.max(0, process.load[w] - process.rates.sigma(w));
        }
        return dropped;
    }

    @Test
    void shouldAdmit75AndLeave100IdleAtE1WhenTheSlowestDecides() {
        List<Process> processes = converged(Knob.quantile(0));
        Process a1 = processes.get(0);
        assertThat(a1.rates.sigma(W1)).isCloseTo(75, within(1e-6));
        assertThat(a1.rates.binding(W1))
                .as("e2 binds")
                .isEqualTo(processes.get(5).resource.id());
        assertThat(processes.get(5).rates.sigma(W1)).isCloseTo(300, within(1e-6));
        assertThat(idle(processes.get(4))).isCloseTo(100, within(1e-6));
        assertThat(idle(processes.get(5))).isCloseTo(0, within(1e-6));
        assertThat(dropped(processes.get(5))).isCloseTo(0, within(1e-6));
        assertThat(a1.load[W2]).as("the others are untouched").isEqualTo(100);
        assertThat(a1.load[W3]).isEqualTo(100);
    }

    @Test
    void shouldAdmit100AndDrop100AtE2WhenTheFastestDecides() {
        List<Process> processes = converged(Knob.quantile(1));
        assertThat(processes.get(0).rates.sigma(W1)).isCloseTo(100, within(1e-6));
        assertThat(processes.get(0).load[W1]).isCloseTo(100, within(1e-6));
        assertThat(idle(processes.get(4))).isCloseTo(0, within(1e-6));
        assertThat(processes.get(5).load[W1]).isCloseTo(400, within(1e-6));
        assertThat(dropped(processes.get(5))).isCloseTo(100, within(1e-6));
    }
}
