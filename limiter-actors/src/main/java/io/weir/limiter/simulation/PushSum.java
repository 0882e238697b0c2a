package io.weir.limiter.simulation;

import java.util.Arrays;
import java.util.random.RandomGenerator;

/**
 * Kempe, Dobra and Gehrke's gossip (gdrl's reference [12]): every node keeps half of its (sum, weight) and sends the
 * other half to a node chosen at random; sum/weight goes to the mean of the inputs in O(log N) rounds. A changed input
 * is added where it changed. In doubles: it estimates, nothing is handed out from it.
 */
final class PushSum {
    private final double[] inputs;
    private double[] sums;
    private double[] weights;
    private double[] nextSums;
    private double[] nextWeights;

    PushSum(int nodes) {
        inputs = new double[nodes];
        sums = new double[nodes];
        weights = new double[nodes];
        nextSums = new double[nodes];
        nextWeights = new double[nodes];
        Arrays.fill(weights, 1);
    }

    void set(int node, double input) {
        sums[node] += input - inputs[node];
        inputs[node] = input;
    }

    void round(RandomGenerator random) {
        int nodes = sums.length;
        for (int i = 0; i < nodes; i++) {
            nextSums[i] = sums[i] / 2;
            nextWeights[i] = weights[i] / 2;
        }
        for (int i = 0; i < nodes && nodes > 1; i++) {
            int other = random.nextInt(nodes - 1);
            int to = other < i ? other : other + 1;
            nextSums[to] += sums[i] / 2;
            nextWeights[to] += weights[i] / 2;
        }
        double[] swapped = sums;
        sums = nextSums;
        nextSums = swapped;
        swapped = weights;
        weights = nextWeights;
        nextWeights = swapped;
    }

    /** What this node takes for the sum of all inputs. */
    double total(int node) {
        return sums[node] / weights[node] * sums.length;
    }
}
