package io.weir.transport.gateway;

import io.weir.config.value.BrokerId;
import java.nio.ByteBuffer;

/**
 * What a client knows of its topics' homes, so that it is told only news. Finds a topic by its name's bytes, without
 * making an object of them. Remembers {@value #MOST} topics; the client is not told of more.
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
     * Whether the client does not know that this is the topic's home; a home here, of a topic that never had another,
     * is no news.
     */
    boolean isNews(ByteBuffer in, int at, int length, BrokerId home, boolean here) {
        int slot = slot(in, at, length);
        return topics[slot] == null ? !here && size < MOST : !homes[slot].equals(home);
    }

    /** The client knows it from now on. After {@link #isNews}. */
    void remember(ByteBuffer in, int at, int length, BrokerId home) {
        int slot = slot(in, at, length);
        homes[slot] = home;
        if (topics[slot] == null) {
            topics[slot] = new byte[length];
            in.get(at, topics[slot]);
            size++;
            if (2 * size > topics.length) {
                grow();
            }
        }
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
