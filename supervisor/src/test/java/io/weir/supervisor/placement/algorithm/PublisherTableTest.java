package io.weir.supervisor.placement.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.algorithm.Registration.Cause;
import io.weir.supervisor.placement.algorithm.Registration.Refused;
import io.weir.supervisor.placement.algorithm.Registration.Registered;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class PublisherTableTest {
    private static final TopicName ORDERS = new TopicName("orders");
    private static final TopicName BILLS = new TopicName("bills");

    private final PublisherTable table = new PublisherTable();

    PublisherTableTest() {
        table.define(new PlacedTopic(ORDERS, Limit.of(1_000, 10), Slo.p99(1_000_000)));
        table.define(new PlacedTopic(BILLS, Limit.of(1_000, 10), Slo.p99(1_000_000)));
    }

    @Test
    void shouldRefuseWhenTheTopicIsUnknown() {
        Registration outcome = table.register(new TopicName("nowhere"), 1, 10, null);
        assertThat(outcome).isInstanceOfSatisfying(Refused.class, refused -> {
            assertThat(refused.cause()).isEqualTo(Cause.UNKNOWN_TOPIC);
            assertThat(refused.text()).contains("nowhere", "create it");
        });
        assertThat(table.size()).isZero();
        assertThat(table.members(new TopicName("nowhere")).size()).isZero();
    }

    @Test
    void shouldRefuseWhenAPublisherSaysTwoGroups() {
        table.register(ORDERS, 7, 10, "north");
        assertThat(table.register(ORDERS, 7, 20, "south")).isInstanceOfSatisfying(Refused.class, refused -> {
            assertThat(refused.cause()).isEqualTo(Cause.CONTRADICTORY_GROUP);
            assertThat(refused.text()).contains("7", "north", "south");
        });
        assertThat(table.members(ORDERS).rate()).isEqualTo(10);
        assertThat(table.register(ORDERS, 7, 20, "north")).isEqualTo(new Registered(0, true));
        assertThat(table.register(ORDERS, 7, 30, null)).isEqualTo(new Registered(0, true));
        assertThat(table.members(ORDERS).rate()).isEqualTo(30);
        table.leave(ORDERS, 7);
        assertThat(table.register(ORDERS, 7, 20, "south")).isInstanceOf(Registered.class);
    }

    @Test
    void shouldRefuseAGroupWhenThePublisherRegisteredWithoutOne() {
        table.register(ORDERS, 7, 10, null);
        assertThat(table.register(ORDERS, 7, 10, "north")).isInstanceOf(Refused.class);
    }

    @Test
    void shouldRefuseWhenTheRateIsImpossible() {
        for (double rate : new double[] {-1, Double.NaN, Double.POSITIVE_INFINITY, 2e9}) {
            assertThat(table.register(ORDERS, 1, rate, null))
                    .isInstanceOfSatisfying(Refused.class, refused -> assertThat(refused.cause())
                            .isEqualTo(Cause.IMPOSSIBLE_RATE));
        }
    }

    @Test
    void shouldCountTwiceWhenOnePublishesToTwoTopics() {
        table.register(ORDERS, 7, 10, "north");
        table.register(BILLS, 7, 20, "south");
        assertThat(table.size()).isEqualTo(2);
        assertThat(table.members(ORDERS).rate()).isEqualTo(10);
        assertThat(table.members(BILLS).rate()).isEqualTo(20);
    }

    @Test
    void shouldKeepWhoIsThereWhenMillionsComeAndGo() {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        Map<List<Object>, Double> truth = new HashMap<>();
        for (int i = 0; i < 50_000; i++) {
            TopicName topic = random.nextBoolean() ? ORDERS : BILLS;
            // Few ids, so that they collide, come again and leave long chains behind.
            long id = random.nextInt(3_000) * 64L;
            if (random.nextInt(3) == 0) {
                assertThat(table.leave(topic, id))
                        .as("seed %d, step %d", seed, i)
                        .isEqualTo(truth.remove(List.of(topic, id)) != null);
            } else {
                double rate = random.nextInt(100);
                assertThat(table.register(topic, id, rate, null))
                        .as("seed %d, step %d", seed, i)
                        .isInstanceOf(Registered.class);
                truth.put(List.of(topic, id), rate);
            }
        }
        assertThat(table.size()).as("seed %d", seed).isEqualTo(truth.size());
        PublisherTable.ByTopic byTopic = table.byTopic();
        Map<List<Object>, Double> found = new HashMap<>();
        for (int t = 0; t < byTopic.topics(); t++) {
            TopicMembers members = byTopic.members(t);
            for (int m = 0; m < members.size(); m++) {
                found.put(List.of(byTopic.topic(t).name(), table.id(members.publisher(m))), members.rate(m));
            }
        }
        assertThat(found).as("seed %d", seed).isEqualTo(truth);
    }

    @Test
    void shouldGatherGroupsWhenMembersAreAskedFor() {
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            String key = i % 4 == 3 ? null : "g" + i % 4;
            keys.add(key);
            table.register(ORDERS, i, 1, key);
        }
        TopicMembers members = table.members(ORDERS);
        assertThat(members.groups()).isEqualTo(4);
        for (int m = 0; m < members.size(); m++) {
            for (int other = 0; other < members.size(); other++) {
                boolean same = String.valueOf(keys.get((int) table.id(members.publisher(m))))
                        .equals(String.valueOf(keys.get((int) table.id(members.publisher(other)))));
                assertThat(members.group(m) == members.group(other)).isEqualTo(same);
            }
            assertThat(members.alone(members.group(m)))
                    .isEqualTo(keys.get((int) table.id(members.publisher(m))) == null);
        }
    }
}
