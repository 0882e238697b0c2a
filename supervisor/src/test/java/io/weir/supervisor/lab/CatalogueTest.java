package io.weir.supervisor.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class CatalogueTest {
    private final Catalogue catalogue = new Catalogue(
            List.of(new SampleExperiments.Odd(), new SampleExperiments.Failing(), new SampleExperiments.Holding()));

    @Test
    void shouldOrderByNameWhenListed() {
        assertThat(catalogue.all())
                .extracting(Experiment::name)
                .containsExactly("broken-dam", "odd-values", "steady-flow");
    }

    @Test
    void shouldSuggestTheNearNameWhenMisspelt() {
        assertThat(catalogue.near("brokn-dam")).containsExactly("broken-dam");
        assertThat(catalogue.near("stedy-flwo")).containsExactly("steady-flow");
    }

    @Test
    void shouldSuggestTheWholeNameWhenAPartIsTyped() {
        assertThat(catalogue.near("values")).containsExactly("odd-values");
    }

    @Test
    void shouldSuggestNothingWhenNothingIsNear() {
        assertThat(catalogue.near("qqqqqqqqqqqq")).isEmpty();
        assertThat(catalogue.near("")).isEmpty();
    }

    @Test
    void shouldRefuseWhenTwoExperimentsShareAName() {
        assertThatThrownBy(() -> new Catalogue(List.of(new SampleExperiments.Odd(), new SampleExperiments.Odd())))
                .hasMessageContaining("two experiments are called odd-values");
    }
}
