package io.weir.supervisor.placement;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.Decisions.Registered;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RegistrationsTest {
    private static final TopicName ORDERS = new TopicName("orders");
    private static final long TTL_MS = 60_000;

    private final Registrations registrations = new Registrations(TTL_MS, 0);

    private List<Registered> written(long nowNs) {
        return registrations.take(nowNs).put();
    }

    @Test
    void shouldWriteAtOnceWhatSomebodyWaitsForAndTheRestLater() {
        registrations.put(ORDERS, 1, 5, "north", false, 0);
        assertThat(written(0)).hasSize(1);
        registrations.put(ORDERS, 2, 5, "", false, 0);
        assertThat(written(1)).as("too early").isEmpty();
        registrations.put(ORDERS, 3, 5, "", true, 0);
        assertThat(written(2)).extracting(Registered::id).containsExactly(2L, 3L);
        registrations.put(ORDERS, 4, 5, "", false, 0);
        assertThat(written(2 + Registrations.WRITE_EVERY_NS)).hasSize(1);
        registrations.put(ORDERS, 4, 5, "", false, 1);
        assertThat(written(10 * Registrations.WRITE_EVERY_NS)).as("nothing new").isEmpty();
        registrations.put(ORDERS, 4, 5, "", false, TTL_MS / 2);
        assertThat(written(20 * Registrations.WRITE_EVERY_NS)).as("a renewal").hasSize(1);
    }

    @Test
    void shouldKeepWhatWasAskedForOverWhatIsMeasured() {
        registrations.put(ORDERS, 1, 5, "north", true, 0);
        registrations.put(ORDERS, 1, 80, "", false, 1);
        assertThat(registrations.get(ORDERS, 1)).isEqualTo(new Registered(ORDERS, 1, 5, "north", true, 1));
        registrations.put(ORDERS, 2, 5, "", false, 0);
        registrations.put(ORDERS, 2, 80, "south", false, 1);
        assertThat(registrations.get(ORDERS, 2)).isEqualTo(new Registered(ORDERS, 2, 80, "south", false, 1));
    }

    @Test
    void shouldEndRegistrationsThatNobodyRenews() {
        registrations.put(ORDERS, 1, 5, "", true, 0);
        registrations.put(ORDERS, 2, 5, "", true, 0);
        registrations.take(0);
        assertThat(registrations.expire((topic, id) -> id == 2, TTL_MS)).isEmpty();
        assertThat(registrations.expire((topic, id) -> id == 2, TTL_MS + 1))
                .extracting(Registered::id)
                .containsExactly(1L);
        Registrations.Batch batch = registrations.take(Registrations.WRITE_EVERY_NS);
        assertThat(batch.gone()).extracting(Registered::id).containsExactly(1L);
        assertThat(batch.put()).as("renewed").extracting(Registered::id).containsExactly(2L);
        assertThat(registrations.count()).isEqualTo(1);
    }

    @Test
    void shouldNotKeepForLongerWhatAWrongClockRenewed() {
        registrations.load(List.of(new Registered(ORDERS, 1, 5, "", true, 1_000 * TTL_MS)));
        assertThat(registrations.expire((topic, id) -> false, 0)).isEmpty();
        assertThat(registrations.expire((topic, id) -> false, TTL_MS + 1)).hasSize(1);
    }

    @Test
    void shouldWriteAgainWhatMayNotHaveBeenWrittenUnlessSomethingIsNewer() {
        registrations.put(ORDERS, 1, 5, "", true, 0);
        registrations.put(ORDERS, 2, 5, "", true, 0);
        Registrations.Batch lost = registrations.take(0);
        registrations.put(ORDERS, 1, 7, "", true, 1);
        registrations.remove(ORDERS, 2, true);
        registrations.again(lost);
        Registrations.Batch batch = registrations.take(1);
        assertThat(batch.put()).extracting(Registered::rate).containsExactly(7.0);
        assertThat(batch.gone()).extracting(Registered::id).containsExactly(2L);
    }

    @Test
    void shouldRefuseMoreThanThereIsRoomFor() {
        for (long id = 1; id <= Registrations.MOST; id++) {
            assertThat(registrations.put(ORDERS, id, 5, "", false, 0)).isTrue();
        }
        assertThat(registrations.put(ORDERS, Registrations.MOST + 1, 5, "", true, 0))
                .isFalse();
        assertThat(registrations.put(ORDERS, 1, 6, "", true, 0))
                .as("who is known")
                .isTrue();
        registrations.remove(ORDERS, 7, false);
        assertThat(registrations.put(ORDERS, Registrations.MOST + 1, 5, "", true, 0))
                .isTrue();
    }

    @Test
    void shouldKeepTheTopicOfSomebodyWithoutAName() {
        registrations.unnamed(Set.of(ORDERS), 0);
        assertThat(registrations.topics()).containsExactly(ORDERS);
        assertThat(written(0)).hasSize(1);
        registrations.unnamed(Set.of(), 1);
        assertThat(registrations.topics()).isEmpty();
        assertThat(registrations.take(Registrations.WRITE_EVERY_NS).gone()).hasSize(1);
    }
}
