package io.weir.topics.federation;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.topics.path.RunningBroker;
import io.weir.transport.link.LinkEvents;
import io.weir.transport.link.LinkSettings;
import io.weir.transport.link.Links;
import io.weir.transport.link.Peer;
import io.weir.transport.link.PeerAddress;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** Sends frames that no broker would send, over a link of its own. */
final class Stranger implements LinkEvents, AutoCloseable {
    private final LinkedBroker victim;
    private final Links links;
    private final UnsafeBuffer frame = new UnsafeBuffer(new byte[4096]);
    private final AtomicBoolean up = new AtomicBoolean();
    private int received;

    Stranger(LinkedBroker victim, Path driver) throws IOException {
        this.victim = victim;
        PeerAddress address = LinkedBroker.address("x", driver);
        links = Links.start(address, LinkSettings.defaults(), () -> {});
        links.connect(victim.address);
        victim.links().connect(address);
        RunningBroker.await("the stranger is linked", () -> {
            links.poll(this, 10, System.nanoTime());
            return up.get();
        });
    }

    /** A frame that no broker can read. */
    void sendNoise() {
        frame.setMemory(0, 100, (byte) 0x55);
        assertThat(offer(100)).isTrue();
    }

    void subscribe(String topic, String channel) {
        int length = FederationFrames.subscribe(frame, 12_345_678, 1, topic, channel);
        assertThat(offer(length)).isTrue();
    }

    private boolean offer(int length) {
        RunningBroker.await("room", () -> {
            links.poll(this, 100, System.nanoTime());
            boolean taken = links.offer(victim.id(), frame, 0, length, 0, 0);
            links.knock();
            return taken;
        });
        return true;
    }

    @Override
    public void onPeerConnected(Peer peer) {
        up.set(true);
    }

    @Override
    public void onPeerLost(Peer peer) {
        up.set(false);
    }

    @Override
    public boolean onFrame(Peer peer, DirectBuffer buffer, int offset, int length, long arrivalNs) {
        received++;
        return true;
    }

    /** Frames that came. */
    int received() {
        links.poll(this, 100, System.nanoTime());
        return received;
    }

    @Override
    public void close() {
        victim.links().disconnect(new BrokerId("x"));
        links.close();
    }
}
