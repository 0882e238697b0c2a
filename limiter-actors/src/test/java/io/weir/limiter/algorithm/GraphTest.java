package io.weir.limiter.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class GraphTest {
    @Test
    void shouldJoinEveryNodeToTheNextWhenItIsARing() {
        Graph ring = Graph.ring(5);
        assertThat(ring.edges()).isEqualTo(5);
        assertThat(ring.neighbours(0)).containsExactly(1, 4);
        assertThat(Graph.ring(2).edges()).isEqualTo(1);
        assertThat(Graph.ring(1).edges()).isZero();
    }

    @Test
    void shouldJoinDistantNodesWithChords() {
        Graph graph = Graph.ring(8, 4, 2);
        assertThat(graph.neighbours(0)).containsExactly(1, 2, 4, 6, 7);
        assertThat(graph.edges()).isEqualTo(8 + 4 + 8);
        assertThat(Graph.binaryChords(1_000)).containsExactly(2, 4, 8, 16, 32, 64, 128, 256);
        assertThat(Graph.binaryChords(10)).containsExactly(2, 4);
    }

    @Test
    void shouldBeConnectedAndRegularWhenRandom() {
        for (long seed = 0; seed < 300; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            int degree = 2 + random.nextInt(7);
            int nodes = (degree + 1 + random.nextInt(30)) / 2 * 2 + 2;
            Graph graph = Graph.randomRegular(nodes, degree, random);
            assertThat(graph.connected()).as("seed %d", seed).isTrue();
            assertThat(graph.edges()).isEqualTo(nodes * degree / 2);
            for (int i = 0; i < nodes; i++) {
                assertThat(graph.neighbours(i))
                        .as("seed %d", seed)
                        .hasSize(degree)
                        .doesNotHaveDuplicates()
                        .doesNotContain(i);
            }
        }
    }

    @Test
    void shouldRefuseADegreeThatNoGraphHas() {
        SplittableRandom random = new SplittableRandom(1);
        assertThatIllegalArgumentException().isThrownBy(() -> Graph.randomRegular(5, 3, random));
        assertThatIllegalArgumentException().isThrownBy(() -> Graph.randomRegular(4, 4, random));
    }

    @Test
    void shouldKnowTheSlowestModeOfARing() {
        assertThat(Graph.ringEigenvalue(10, 0.5)).isCloseTo(0.9045085, within(1e-7));
        assertThat(Graph.ringEigenvalue(2, 0.5)).isCloseTo(0.5, within(1e-12));
        assertThat(Graph.ringEigenvalue(1, 0.5)).isZero();
        // Every pair joined: 1 − p·(n/2), here 1 − 0.25·2.5
        assertThat(Graph.ringEigenvalue(5, 0.25, 2)).isCloseTo(0.375, within(1e-12));
    }
}
