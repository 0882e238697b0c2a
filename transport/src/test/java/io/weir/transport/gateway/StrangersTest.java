package io.weir.transport.gateway;

import static io.weir.transport.Awaiting.await;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What those hold who have not said yet what the broker asks of them, over real sockets. */
@Timeout(60)
class StrangersTest {
    private static final String SECRET = "a-secret-of-orders";
    private static final String DEFLATE = "{\"feature_negotiation\":true,\"deflate\":true}";
    private static final ClientTerms WITH_TOKENS = new ClientTerms(
            Optional.empty(),
            false,
            true,
            true,
            6,
            new AccessRights(true, List.of(new AccessRights.Token("all", SECRET, List.of("*"), List.of("*")))));

    private final RecordingPort port = new RecordingPort();
    private final AtomicLong clock = new AtomicLong(1);
    private final List<Client> connected = new ArrayList<>();
    private GatewayLoop loop;

    private GatewaySettings start(ClientTerms terms, int most, int mostByAddress, int mostStrangers, long bufferBytes)
            throws IOException {
        GatewaySettings usual = GatewaySettings.defaults();
        GatewaySettings settings = new GatewaySettings(
                most,
                mostByAddress,
                mostStrangers,
                usual.maxMessageBytes(),
                usual.maxBodyBytes(),
                usual.maxReady(),
                usual.bufferBytes(),
                bufferBytes,
                usual.heartbeatNs(),
                usual.maxHeartbeatNs(),
                usual.messageTimeoutNs(),
                usual.maxMessageTimeoutNs(),
                usual.maxDelayNs(),
                usual.stallNs(),
                usual.handshakeNs());
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        loop = new GatewayLoop(any, settings, terms, BrokerDirectory.ALONE, clock::get);
        loop.start(port);
        return settings;
    }

    @AfterEach
    void stop() throws IOException {
        for (Client client : connected) {
            client.close();
        }
        loop.close();
    }

    private Client greeted() throws IOException {
        Client client = Client.greeted(loop);
        connected.add(client);
        return client;
    }

    /** When this returns the broker has it. */
    private Client silent() throws IOException {
        int before = loop.stats().connections();
        long displacedBefore = loop.stats().displaced();
        Client client = Client.silent(loop);
        connected.add(client);
        await(
                "it is there",
                () -> loop.stats().connections() > before || loop.stats().displaced() > displacedBefore);
        return client;
    }

    private Client authenticated() throws IOException {
        Client client = greeted();
        assertThat(client.send(Client.command("AUTH", SECRET)).answer()).contains("\"identity\":\"all\"");
        return client;
    }

    private static void assertServed(Client client) throws IOException {
        assertThat(client.send(Client.command("PUB t", "x")).answer()).isEqualTo("OK");
    }

    private long strangersBytes() {
        CompletableFuture<Long> answer = new CompletableFuture<>();
        port.work.add(() -> answer.complete(loop.strangersBytes()));
        loop.wakeUp();
        return answer.orTimeout(20, TimeUnit.SECONDS).join();
    }

    @Test
    void shouldCloseWhoDoesNotAuthenticateInTime() throws IOException {
        GatewaySettings settings = start(WITH_TOKENS, 100, 100, 100, 128L << 20);
        Client known = authenticated();
        Client stranger = greeted();
        // Its answer says that the broker has had its greeting.
        assertThat(stranger.identify("{\"heartbeat_interval\":-1}")).isEqualTo("OK");
        clock.addAndGet(settings.handshakeNs() + TimeUnit.SECONDS.toNanos(1));
        loop.wakeUp();
        assertThat(stranger.answer()).startsWith("E_AUTH_FIRST");
        assertThat(stranger.ended()).isTrue();
        assertServed(known);
        assertThat(loop.stats().late()).isEqualTo(1);
    }

    @Test
    void shouldLetStrangersOfAnAddressDisplaceEachOtherAndNobodyElse() throws IOException {
        start(WITH_TOKENS, 100, 100, 3, 128L << 20);
        Client known = authenticated();
        List<Client> strangers = List.of(silent(), silent(), silent());
        Client newcomer = authenticated();
        assertThat(strangers.get(0).ended()).isTrue();
        silent();
        silent();
        assertServed(known);
        assertServed(newcomer);
        assertThat(loop.stats().displaced()).isPositive();
        assertThat(loop.stats().strangers()).isLessThanOrEqualTo(3);
    }

    @Test
    void shouldKeepAPlaceForNewcomersWhenStrangersTakeAll() throws IOException {
        start(ClientTerms.defaults(), 5, 100, 100, 128L << 20);
        Client first = greeted();
        assertServed(first);
        for (int i = 0; i < 20; i++) {
            silent();
        }
        Client newcomer = greeted();
        assertServed(newcomer);
        assertServed(first);
        assertThat(loop.stats().connections()).isLessThanOrEqualTo(5);
        assertThat(loop.stats().refused()).isZero();
    }

    @Test
    void shouldRefuseANewcomerWhenClientsOfItsAddressThatAreNoStrangersTakeAll() throws IOException {
        start(ClientTerms.defaults(), 100, 2, 100, 128L << 20);
        Client one = greeted();
        assertServed(one);
        Client two = greeted();
        assertServed(two);
        Client newcomer = Client.silent(loop);
        connected.add(newcomer);
        assertThat(newcomer.ended()).isTrue();
        assertServed(one);
        assertServed(two);
        assertThat(loop.stats().refused()).isEqualTo(1);
        one.close();
        await("its place is free", () -> loop.stats().connections() == 1);
        assertServed(greeted());
    }

    /** Each takes 300 KB for deflate alone. */
    @Test
    void shouldLeaveKnownClientsTheirMemoryWhenStrangersAskForLayers() throws IOException {
        GatewaySettings settings = start(WITH_TOKENS, 1000, 1000, 1000, 32L << 20);
        Client known = greeted();
        known.identify(DEFLATE);
        known.deflate();
        assertThat(known.answer()).isEqualTo("OK");
        assertThat(known.send(Client.command("AUTH", SECRET)).answer()).contains("\"identity\":\"all\"");
        assertThat(strangersBytes()).isZero();
        for (int i = 0; i < 40; i++) {
            Client stranger = greeted();
            stranger.identify(DEFLATE);
            assertThat(stranger.deflate().answer()).isEqualTo("OK");
            assertThat(strangersBytes()).isLessThanOrEqualTo(settings.maxStrangersBytes());
        }
        assertThat(loop.stats().displaced()).isPositive();
        assertServed(known);
        Client newcomer = greeted();
        newcomer.identify(DEFLATE);
        assertThat(newcomer.deflate().answer()).isEqualTo("OK");
        assertThat(newcomer.send(Client.command("AUTH", SECRET)).answer()).contains("\"identity\":\"all\"");
        assertServed(newcomer);
        for (Client client : connected) {
            client.close();
        }
        await("their memory is back", () -> strangersBytes() == 0);
    }

    @Test
    void shouldCountSecretsThatNoTokenHas() throws IOException {
        start(WITH_TOKENS, 100, 100, 100, 128L << 20);
        Client guessing = greeted();
        assertThat(guessing.send(Client.command("AUTH", "a-secret-of-nobody")).answer())
                .isEqualTo("E_AUTH_FAILED AUTH failed");
        assertThat(guessing.ended()).isTrue();
        authenticated();
        assertThat(loop.stats().failedAuths()).isEqualTo(1);
    }

    @Test
    void shouldSayHowLongAgoItsLastTurnWas() throws Exception {
        start(ClientTerms.defaults(), 100, 100, 100, 128L << 20);
        CompletableFuture<Void> goOn = new CompletableFuture<>();
        CompletableFuture<Void> stuck = new CompletableFuture<>();
        port.work.add(() -> {
            stuck.complete(null);
            goOn.join();
        });
        loop.wakeUp();
        stuck.get(20, TimeUnit.SECONDS);
        clock.addAndGet(TimeUnit.MINUTES.toNanos(1));
        loop.wakeUp();
        assertThat(loop.turnAgeNs()).isGreaterThanOrEqualTo(TimeUnit.MINUTES.toNanos(1));
        goOn.complete(null);
        await("it goes on", () -> loop.turnAgeNs() == 0);
    }
}
