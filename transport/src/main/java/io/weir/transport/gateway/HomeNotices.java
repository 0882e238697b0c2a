package io.weir.transport.gateway;

import io.weir.config.value.BrokerId;
import java.nio.ByteBuffer;

/**
 * Of which topics a client was told that its home is elsewhere, and where, so that it is told only what it does not know. Finds a topic
 * by its name's bytes, without making anything of them. Remembers {@value #MOST} topics; of more a client is not told.
 */
final class HomeNotices {
    private static final int MOST = 1024;
    private static final int FIRST_SLOTS = 16;

    private byte[][] topics = new byte[FIRST_SLOTS][];
    private BrokerId[] homes = new BrokerId[FIRST_SLOTS];
    private int size;

    boolean isEmpty() {
        return size == 0;
    }

    /**
     * The topic's home is that broker.
     *
     * @return whether that is news which the client can be told; a home here, of a topic that never had another, is none
     */
    boolean news(ByteBuffer in, int at, int length, BrokerId home, boolean here) {
        int slot = slot(in, at, length);
        if (topics[slot] != null) {
            boolean changed = !homes[slot].equals(home);
            homes[slot] = home;
            return changed;
        }
        if (here || size == MOST) {
            return false;
        }
        byte[] topic = new byte[length];
        in.get(at, topic);
        topics[slot] = topic;
        homes[slot] = home;
        size++;
        if (2 * size > topics.length) {
            grow();
        }
        return true;
    }

    private int slot(ByteBuffer in, int at, int length) {
        int hash = 1;
        for (int i = 0; i < length; i++) {
            hash = 31 * hash + in.get(at + i);
        }
        int slot = hash & topics.length - 1;
        while (topics[slot] != null && !same(topics[slot], in, at, length)) {
            slot = slot + 1 & topics.length - 1;
        }
        return slot;
    }

    private static boolean same(byte[] topic, ByteBuffer in, int at, int length) {
        boolean same = topic.length == length;
        for (int i = 0; same && i < length; i++) {
            same = topic[i] == in.get(at + i);
        }
        return same;
    }

    private void grow() {
        byte[][] oldTopics = topics;
        BrokerId[] oldHomes = homes;
        topics = new byte[2 * oldTopics.length][];
        homes = new BrokerId[2 * oldHomes.length];
        for (int i = 0; i < oldTopics.length; i++) {
            if (oldTopics[i] != null) {
                int slot = slot(ByteBuffer.wrap(oldTopics[i]), 0, oldTopics[i].length);
                topics[slot] = oldTopics[i];
                homes[slot] = oldHomes[i];
            }
        }
    }
}
