package io.weir.limiter.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.math.BigDecimal;
import java.math.MathContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BucketModelTest {
    private static final BucketModel FIGURE_6 = new BucketModel(10_000, 11_000, 27);

    @Test
    void shouldGiveThePublishedFractionsWhenLoadAndBurstAreGiven() {
        assertThat(new BucketModel(8, 10, 10).delayedFraction()).isCloseTo(0.0179350762, within(5e-11));
        assertThat(new BucketModel(8, 10, 20).delayedFraction()).isCloseTo(0.000241312201, within(5e-13));
        assertThat(new BucketModel(10_000, 11_000, 20).delayedFraction()).isCloseTo(0.0265540130, within(5e-11));
    }

    @Test
    void shouldGiveTheDelaysOfFigure6WhenTheBucketIsSplit() {
        assertThat(FIGURE_6.delayQuantileSeconds(0.99)).isZero();
        assertThat(FIGURE_6.smallestBurst(0.99)).isEqualTo(26);
        assertThat(FIGURE_6.share(2).delayQuantileSeconds(0.99)).isCloseTo(2.128e-3, within(5e-7));
        assertThat(FIGURE_6.share(6).delayQuantileSeconds(0.99)).isCloseTo(11.293e-3, within(5e-7));
    }

    @ParameterizedTest
    @CsvSource({"0.05, 3.25", "0.3, 0.5", "0.5, 7", "0.8, 0.999", "0.8, 33.3", "0.9, 80", "0.99, 150.75"})
    void shouldAgreeWithTheAlternatingSumWhenThatHasDigitsEnough(double load, double x) {
        double expected = alternatingTail(load, x);

        assertThat(new UnfinishedWork(load).above(x) / expected).isCloseTo(1, within(1e-12));
    }

    /** Far beyond what the alternating sum could do: Ramaswami's recursion all the way, without the exponential. */
    @ParameterizedTest
    @CsvSource({"0.99, 10000", "0.99, 300", "0.95, 5000", "0.9, 257", "0.999, 10000"})
    void shouldAgreeWithTheFullRecursionWhenTheBucketIsLarge(double load, int burst) {
        double expected = recursiveTail(load, burst - 1);

        assertThat(expected).isPositive();
        assertThat(new BucketModel(load, 1, burst).delayedFraction() / expected).isCloseTo(1, within(1e-9));
    }

    @ParameterizedTest
    @CsvSource({"0.1", "0.5", "0.909", "0.99", "0.9999", "0.999999999"})
    void shouldGiveThePollaczekKhinchineMeanWhenTheBucketHoldsOneToken(double load) {
        BucketModel model = new BucketModel(load * 100, 100, 1);

        assertThat(model.delayedFraction()).isCloseTo(load, within(1e-12));
        assertThat(model.meanDelaySeconds()).isCloseTo(load / (200 * (1 - load)), withinPercentage(1e-7));
        assertThat(model.meanDelayByEq1Seconds()).isCloseTo(model.meanDelaySeconds(), withinPercentage(1e-7));
    }

    @ParameterizedTest
    @CsvSource({"0.5, 5", "0.8, 10", "0.8, 4.5", "0.909, 27", "0.99, 300.5"})
    void shouldGiveTheIntegralOfTheTailAsMeanDelay(double load, double burst) {
        UnfinishedWork work = new UnfinishedWork(load);
        double end = Math.ceil(burst) + 10 / (1 - load);
        double integral = 0;
        double step = 1 / 16.0;
        for (double x = burst - 1; x < end; x += step) {
            integral += step / 6 * (work.above(x) + 4 * work.above(x + step / 2) + work.above(x + step));
        }

        assertThat(new BucketModel(load, 1, burst).meanDelaySeconds()).isCloseTo(integral, withinPercentage(1e-4));
    }

    @Test
    void shouldWaitLessThanEq1SaysWhenTheBucketHoldsMoreThanOneToken() {
        assertThat(ratioToEq1(0.5, 5)).isCloseTo(0.796, within(0.001));
        assertThat(ratioToEq1(10 / 11.0, 27)).isCloseTo(0.968, within(0.001));
    }

    @Test
    void shouldBeMonotoneWhenTheDelayPartOrTheBurstGrows() {
        UnfinishedWork work = new UnfinishedWork(0.95);
        double last = 1;
        for (double x = 0; x < 300; x += 0.1) {
            assertThat(work.above(x)).as("x = %s", x).isLessThan(last);
            last = work.above(x);
        }
        assertThat(work.above(work.exceededBy(1e-3))).isCloseTo(1e-3, within(1e-15));
        assertThat(work.above(work.exceededBy(1e-30))).isCloseTo(1e-30, withinPercentage(1e-9));
    }

    @Test
    void shouldRefuseWhenThereIsNoSteadyState() {
        assertThatThrownBy(() -> new BucketModel(11, 10, 5)).hasMessageContaining("grows without end");
        assertThatThrownBy(() -> new BucketModel(0, 10, 5)).hasMessageContaining("arrival rate 0.0 is not above 0");
        assertThatThrownBy(() -> FIGURE_6.share(28)).hasMessageContaining("never holds a whole token");
        assertThatThrownBy(() -> FIGURE_6.share(0)).hasMessageContaining("not 0");
        assertThatThrownBy(() -> FIGURE_6.delayQuantileSeconds(1)).hasMessageContaining("quantile 1.0");
    }

    private static double ratioToEq1(double load, double burst) {
        BucketModel model = new BucketModel(load, 1, burst);
        return model.meanDelaySeconds() / model.meanDelayByEq1Seconds();
    }

    /** P(U &gt; x) by the textbook's sum, in 300 digits. */
    private static double alternatingTail(double load, double x) {
        MathContext digits = new MathContext(300);
        BigDecimal rho = new BigDecimal(load);
        BigDecimal sum = BigDecimal.ZERO;
        BigDecimal exponential = exp(rho.multiply(new BigDecimal(x)), digits);
        BigDecimal perStep = exp(rho.negate(), digits);
        BigDecimal factorial = BigDecimal.ONE;
        for (int j = 0; j <= (int) x; j++) {
            factorial = j == 0 ? factorial : factorial.multiply(BigDecimal.valueOf(j));
            BigDecimal y = rho.multiply(new BigDecimal(x).subtract(BigDecimal.valueOf(j)));
            BigDecimal power = j == 0 ? BigDecimal.ONE : y.negate().pow(j, digits);
            sum = sum.add(exponential.multiply(power).divide(factorial, digits));
            exponential = exponential.multiply(perStep, digits);
        }
        return BigDecimal.ONE
                .subtract(BigDecimal.ONE.subtract(rho).multiply(sum))
                .doubleValue();
    }

    private static BigDecimal exp(BigDecimal y, MathContext digits) {
        BigDecimal term = BigDecimal.ONE;
        BigDecimal sum = BigDecimal.ONE;
        for (int n = 1; n < 900; n++) {
            term = term.multiply(y, digits).divide(BigDecimal.valueOf(n), digits);
            sum = sum.add(term, digits);
        }
        return sum;
    }

    /** P(N &gt; n) summed from 3,000/(1−ρ)… terms of the recursion, each by its 60 last predecessors. */
    private static double recursiveTail(double load, int n) {
        double[] atLeast = new double[61];
        double term = Math.exp(-load);
        for (int j = 0; j <= 60; j++) {
            atLeast[j] = term;
            term *= load / (j + 1);
        }
        for (int j = 59; j >= 0; j--) {
            atLeast[j] += atLeast[j + 1];
        }
        double[] number = new double[n + (int) (30 / (1 - load))];
        number[0] = 1 - load;
        for (int m = 1; m < number.length; m++) {
            double sum = m <= 60 ? number[0] * atLeast[m] : 0;
            for (int i = Math.max(1, m - 59); i < m; i++) {
                sum += number[i] * atLeast[m + 1 - i];
            }
            number[m] = sum / Math.exp(-load);
        }
        double tail = 0;
        for (int m = number.length - 1; m > n; m--) {
            tail += number[m];
        }
        return tail;
    }
}
