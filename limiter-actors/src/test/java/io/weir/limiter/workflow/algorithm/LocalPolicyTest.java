package io.weir.limiter.workflow.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class LocalPolicyTest {
    private static final long EN = 11;
    private static final long CPU = 12;
    private static final long MEMORY = 13;

    private final double[] weights = new double[WorkflowSlots.COUNT];
    private final double[] sigmas = new double[WorkflowSlots.COUNT];
    private final long[] binding = new long[WorkflowSlots.COUNT];

    LocalPolicyTest() {
        Arrays.fill(weights, 1);
    }

    private static Resource resource(long id, double... offeredFromOne) {
        Resource resource = new Resource(id, 1);
        System.arraycopy(offeredFromOne, 0, resource.offered, 1, offeredFromOne.length);
        return resource;
    }

    @Test
    void shouldDivideByMaxMinWhenOverloaded() {
        Resource resource = resource(EN, 400, 100, 100);
        resource.measured(500, true, 500, 0, true);
        new BottleneckFairness().divide(List.of(resource), weights, sigmas, binding);
        assertThat(sigmas[1]).isEqualTo(300);
        assertThat(binding[1]).isEqualTo(EN);
        assertThat(sigmas[2]).as("below the level: free to rise to it").isEqualTo(300);
    }

    @Test
    void shouldDivideConsumerTimeNotMessages() {
        Resource resource = resource(EN, 1_000, 1_000);
        resource.cost(1, 0.01);
        resource.cost(2, 0.04);
        resource.measured(8, true, 8, 0, true);
        new BottleneckFairness().divide(List.of(resource), weights, sigmas, binding);
        assertThat(sigmas[1]).isCloseTo(400, within(1e-9));
        assertThat(sigmas[2]).isCloseTo(100, within(1e-9));
        weights[2] = 3;
        new BottleneckFairness().divide(List.of(resource), weights, sigmas, binding);
        assertThat(sigmas[1]).isCloseTo(200, within(1e-9));
        assertThat(sigmas[2]).isCloseTo(150, within(1e-9));
    }

    @Test
    void shouldBindNobodyWhenTheCapacityWasNeverSeen() {
        Resource resource = resource(EN, 400);
        resource.measured(100, false, 100, 0, false);
        new BottleneckFairness().divide(List.of(resource), weights, sigmas, binding);
        assertThat(sigmas[1]).isInfinite();
        assertThat(binding[1]).isEqualTo(Announcement.NOTHING);
    }

    @Test
    void shouldLetAllSendWhatTheLargestOffersAndWhatIsSpareWhenCalm() {
        Resource resource = resource(EN, 200, 100);
        resource.measured(500, true, 300, 0, false);
        new BottleneckFairness().divide(List.of(resource), weights, sigmas, binding);
        assertThat(sigmas[1]).isEqualTo(400);
        assertThat(sigmas[2]).as("not bound by its own demand").isEqualTo(400);
    }

    @Test
    void shouldProbeFasterTheLongerItIsCalm() {
        Resource resource = resource(EN, 4_000);
        BottleneckFairness policy = new BottleneckFairness();
        resource.measured(1_000, true, 1_000, 500, true);
        policy.divide(List.of(resource), weights, sigmas, binding);
        assertThat(sigmas[1]).as("at least C/2").isEqualTo(500);
        double before = sigmas[1];
        double[] steps = new double[30];
        for (int i = 0; i < steps.length; i++) {
            resource.measured(1_000, true, 1_000, 0, false);
            policy.divide(List.of(resource), weights, sigmas, binding);
            steps[i] = sigmas[1] - before;
            before = sigmas[1];
        }
        assertThat(steps[0]).isCloseTo(2.5, within(1e-9));
        assertThat(steps[5]).isCloseTo(5, within(1e-9));
        assertThat(steps[29]).as("20 times at most").isCloseTo(50, within(1e-9));
    }

    @Test
    void shouldKeepAQuarterOfTheCapacityWhenConsumersStandStill() {
        Resource resource = resource(EN, 4_000);
        BottleneckFairness policy = new BottleneckFairness();
        for (int i = 0; i < 100; i++) {
            resource.measured(1_000, true, 1_000, 0, true);
        }
        for (int i = 0; i < 20; i++) {
            resource.measured(1, true, 0, 2_000, true);
            policy.divide(List.of(resource), weights, sigmas, binding);
            assertThat(sigmas[1]).isEqualTo(250);
        }
    }

    /** The example of DRF's authors: 9 CPUs and 18 GB, A's tasks of (1, 4) and B's of (3, 1). */
    @Test
    void shouldMakeDominantSharesEqual() {
        Resource cpu = resource(CPU, 100, 100);
        Resource memory = resource(MEMORY, 100, 100);
        cpu.cost(1, 1);
        memory.cost(1, 4);
        cpu.cost(2, 3);
        memory.cost(2, 1);
        cpu.measured(9, true, 9, 0, true);
        memory.measured(18, true, 18, 0, true);
        new DominantResourceFairness().divide(List.of(cpu, memory), weights, sigmas, binding);
        assertThat(sigmas[1]).isCloseTo(3, within(1e-9));
        assertThat(sigmas[2]).isCloseTo(2, within(1e-9));
        assertThat(binding[1]).isEqualTo(CPU);
    }

    @Test
    void shouldLeaveWhatOneDoesNotOfferToTheOther() {
        Resource cpu = resource(CPU, 1, 100);
        cpu.measured(9, true, 9, 0, true);
        new DominantResourceFairness().divide(List.of(cpu), weights, sigmas, binding);
        assertThat(sigmas[1]).isCloseTo(1, within(1e-9));
        assertThat(sigmas[2]).isCloseTo(8, within(1e-9));
    }

    @Test
    void shouldTakeTokensForOverloadedWhenTheyAreWaitedForOrRefused() {
        Resource tokens = resource(EN, 400);
        tokens.measuredTokens(200, 200, 10, 0.05);
        assertThat(tokens.overloaded()).isFalse();
        tokens.measuredTokens(200, 200, 11, 0);
        assertThat(tokens.overloaded()).isTrue();
        tokens.measuredTokens(200, 200, 0, 0.06);
        assertThat(tokens.overloaded()).isTrue();
        new BottleneckFairness().divide(List.of(tokens), weights, sigmas, binding);
        assertThat(sigmas[1]).isEqualTo(200);
    }

    @Test
    void shouldTakeWhatTheOperatorSet() {
        double[] rates = new double[WorkflowSlots.COUNT];
        Arrays.fill(rates, Double.POSITIVE_INFINITY);
        rates[3] = 20;
        new StaticRates(rates, EN).divide(List.of(), weights, sigmas, binding);
        assertThat(sigmas[3]).isEqualTo(20);
        assertThat(binding[3]).isEqualTo(EN);
        assertThat(sigmas[4]).isInfinite();
    }
}
