package io.weir.cluster.stage;

import com.sun.jna.Memory;
import com.sun.jna.Native;
import io.weir.cluster.stage.Script.Count;
import io.weir.cluster.stage.Script.Rule;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * Takes every frame that a host sends out of its cable and puts it into the cable of the one that it is meant for, as
 * the {@link Crossing} says. It knows the hosts' addresses (their last byte is the host's number) and forwards nothing
 * else: no broadcast, no unknown address, none of a host that claims to be another.
 *
 * <p>One thread, which sleeps while no frame comes and none is due.
 */
final class Switch {
    /** Ten seconds of 6 MB/s. */
    private static final long CAPACITY_BYTES = 64L * 1024 * 1024;

    private static final int LARGEST_FRAME = 64 * 1024;
    private static final int FRAMES_A_TURN = 64;
    private static final int HEADER_BYTES = 14;
    private static final int SOURCE_AT = 6;
    private static final int ADDRESS_BYTES = 6;
    private static final int ADDRESS_BEGIN = 0x02_57_65_69;

    private final List<String> hosts;
    private final int[] sockets;
    private final Crossing crossing;
    private final ByteBuffer frame = ByteBuffer.allocateDirect(LARGEST_FRAME);
    private final ByteBuffer late = ByteBuffer.allocateDirect(LARGEST_FRAME);

    /** In the network of the calling thread, where the cables end. */
    Switch(List<String> hosts, long seed) {
        this.hosts = List.copyOf(hosts);
        sockets = hosts.stream()
                .mapToInt(host -> Linux.frameSocket(cable(hosts.indexOf(host))))
                .toArray();
        crossing = new Crossing(hosts.size(), new SplittableRandom(seed), CAPACITY_BYTES, this::send);
    }

    static String cable(int number) {
        return "cable" + number;
    }

    /** The hardware address of a host. */
    static String hardwareAddress(int number) {
        return String.format("02:57:65:69:00:%02x", number);
    }

    /** For as long as the process lives. */
    void run() {
        Memory polled = new Memory((long) sockets.length * Linux.POLLFD_BYTES);
        for (int host = 0; host < sockets.length; host++) {
            polled.setInt((long) host * Linux.POLLFD_BYTES, sockets[host]);
            polled.setShort((long) host * Linux.POLLFD_BYTES + Linux.POLLFD_EVENTS_AT, Linux.POLLIN);
        }
        long idleNs = -1;
        while (true) {
            int ready = Linux.poll(polled, sockets.length, timeoutMs(idleNs));
            if (ready < 0 && Native.getLastError() != Linux.EINTR) {
                throw new IllegalStateException("the switch can't listen: error " + Native.getLastError());
            }
            idleNs = turn(polled, ready);
        }
    }

    /** Rounded up: to wake early would be to spin. */
    private static int timeoutMs(long idleNs) {
        return idleNs < 0 ? -1 : (int) Math.min(Integer.MAX_VALUE, TimeUnit.NANOSECONDS.toMillis(idleNs) + 1);
    }

    private synchronized long turn(Memory polled, int ready) {
        if (ready > 0) {
            for (int host = 0; host < sockets.length; host++) {
                if (polled.getShort((long) host * Linux.POLLFD_BYTES + Linux.POLLFD_REVENTS_AT) != 0) {
                    receive(host);
                }
            }
        }
        return crossing.leave(System.nanoTime());
    }

    private void receive(int from) {
        for (int count = 0; count < FRAMES_A_TURN; count++) {
            frame.clear();
            long length = Linux.recv(sockets[from], frame, LARGEST_FRAME, Linux.MSG_DONTWAIT);
            if (length < 0) {
                return;
            }
            frame.limit((int) length);
            int to = length < HEADER_BYTES ? -1 : host(0);
            if (to >= 0 && to != from && host(SOURCE_AT) == from) {
                crossing.enter(from, to, frame, System.nanoTime());
            }
        }
    }

    /** Whose address stands there in the frame; -1 for nobody's. */
    private int host(int at) {
        int number = frame.get(at + ADDRESS_BYTES - 1);
        boolean ours = frame.getInt(at) == ADDRESS_BEGIN && frame.get(at + ADDRESS_BYTES - 2) == 0;
        return ours && number >= 0 && number < sockets.length ? number : -1;
    }

    private void send(int to, ByteBuffer arrived) {
        ByteBuffer sent = arrived;
        if (!arrived.isDirect()) {
            sent = late.clear().put(arrived.duplicate()).flip();
        }
        // Where the cable is full the frame is dropped, as elsewhere.
        Linux.send(sockets[to], sent, sent.remaining(), Linux.MSG_DONTWAIT);
    }

    /** Once this returns, every further frame meets these conditions. */
    synchronized void conditions(List<Rule> rules) {
        Conditions[] all = new Conditions[hosts.size() * hosts.size()];
        Arrays.fill(all, Conditions.CLEAR);
        rules.forEach(
                rule -> all[hosts.indexOf(rule.from()) * hosts.size() + hosts.indexOf(rule.to())] = rule.conditions());
        crossing.conditions(all);
    }

    synchronized List<Count> counts() {
        List<Count> all = new ArrayList<>();
        for (int from = 0; from < hosts.size(); from++) {
            for (int to = 0; to < hosts.size(); to++) {
                if (from != to) {
                    all.add(new Count(hosts.get(from), hosts.get(to), crossing.traffic(from, to)));
                }
            }
        }
        return all;
    }
}
