package io.weir.transport.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.config.value.BrokerId;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AccessRightsTest {
    @ParameterizedTest
    @CsvSource({
        "*, anything, true",
        "orders, orders, true",
        "orders, orders2, false",
        "orders, order, false",
        "orders.*, orders., true",
        "orders.*, orders, false",
        "*.new, orders.new, true",
        "*.new, orders.new.old, false",
        "a*b*c, aXXbYYbc, true",
        "a*b*c, aXXbYYbd, false",
        "**, x, true",
        "a*a, a, false"
    })
    void shouldFitAPatternAsAWhole(String pattern, String name, boolean fits) {
        ByteBuffer in = ByteBuffer.wrap(("  " + name + "*").getBytes(StandardCharsets.US_ASCII));
        assertThat(new NamePattern(pattern).matches(in, 2, name.length())).isEqualTo(fits);
    }

    @Test
    void shouldGrantWhatTheTokenOfThatSecretOpens() {
        AccessRights rights = new AccessRights(
                true,
                List.of(
                        new AccessRights.Token("a", "secret-of-a", List.of("a*"), List.of("t:c*", "u")),
                        new AccessRights.Token("b", "secret-of-b", List.of("b"), List.of())));

        AccessRights.Grant grant = rights.grant("secret-of-a").orElseThrow();
        assertThat(grant.name()).isEqualTo("a");
        assertThat(grant.mayPublish("abc")).isTrue();
        assertThat(grant.mayPublish("b")).isFalse();
        assertThat(grant.maySubscribe("t", "c1")).isTrue();
        assertThat(grant.maySubscribe("t", "d")).isFalse();
        assertThat(grant.maySubscribe("u", "any")).isTrue();
        assertThat(grant.maySubscribe("u2", "any")).isFalse();
        assertThat(rights.grant("secret-of-b").orElseThrow().maySubscribe("t", "c1"))
                .isFalse();
        assertThat(rights.grant("secret-of-")).isEmpty();
        assertThat(rights.grant("")).isEmpty();
        assertThat(AccessRights.OPEN.enabled()).isFalse();
    }

    @Test
    void shouldRefuseASecretThatOpensTwoThingsAndNeverShowIt() {
        AccessRights.Token one = new AccessRights.Token("one", "the-same-secret", List.of("a"), List.of());
        AccessRights.Token two = new AccessRights.Token("two", "the-same-secret", List.of("b"), List.of());
        assertThatThrownBy(() -> new AccessRights(true, List.of(one, two)))
                .hasMessageContaining("two")
                .hasMessageNotContaining("the-same-secret");
        assertThat(one.toString()).doesNotContain("the-same-secret");
    }

    @Test
    void shouldTellOfAHomeOnceAndAgainWhenItChanges() {
        HomeNotices notices = new HomeNotices();
        BrokerId here = new BrokerId("b1");
        BrokerId there = new BrokerId("b2");
        assertThat(news(notices, "t", here, true)).isFalse();
        assertThat(notices.isEmpty()).isTrue();
        assertThat(news(notices, "t", there, false)).isTrue();
        assertThat(news(notices, "t", there, false)).isFalse();
        assertThat(news(notices, "t", here, true)).isTrue();
        assertThat(news(notices, "t", here, true)).isFalse();
        for (int i = 0; i < 2_000; i++) {
            assertThat(news(notices, "topic" + i, there, false))
                    .as("topic " + i)
                    .isEqualTo(i < 1_023);
        }
        assertThat(news(notices, "topic7", there, false)).isFalse();
        assertThat(news(notices, "topic7", here, true)).isTrue();
    }

    private static boolean news(HomeNotices notices, String topic, BrokerId home, boolean isHere) {
        byte[] name = topic.getBytes(StandardCharsets.US_ASCII);
        boolean news = notices.isNews(ByteBuffer.wrap(name), 0, name.length, home, isHere);
        if (news) {
            notices.remember(ByteBuffer.wrap(name), 0, name.length, home);
        }
        return news;
    }
}
