package io.weir.topics.algorithm;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Finds things by a name that stands in a buffer, without making a string of it. */
public final class NameTable<T> {
    private byte[][] names = new byte[64][];
    private Object[] values = new Object[64];
    private int size;
    /** Where the last one was found: the next to be looked for often is the same. */
    private int last;

    public T get(ByteBuffer in, int at, int length) {
        if (names[last] != null && names[last].length == length && equal(names[last], in, at)) {
            return value(last);
        }
        int mask = names.length - 1;
        int place = hash(in, at, length) & mask;
        while (names[place] != null) {
            if (names[place].length == length && equal(names[place], in, at)) {
                last = place;
                return value(place);
            }
            place = place + 1 & mask;
        }
        return null;
    }

    public T get(String name) {
        byte[] bytes = name.getBytes(StandardCharsets.US_ASCII);
        return get(ByteBuffer.wrap(bytes), 0, bytes.length);
    }

    /** Adds what is not there yet. */
    public void add(String name, T value) {
        if (get(name) != null) {
            throw new IllegalStateException(name + " is there already");
        }
        if (2 * (size + 1) > names.length) {
            grow();
        }
        insert(name.getBytes(StandardCharsets.US_ASCII), value);
    }

    public void remove(String name) {
        byte[] bytes = name.getBytes(StandardCharsets.US_ASCII);
        int mask = names.length - 1;
        int hole = home(bytes);
        while (names[hole] != null && !Arrays.equals(names[hole], bytes)) {
            hole = hole + 1 & mask;
        }
        if (names[hole] == null) {
            return;
        }
        size--;
        // Whatever was pushed past the hole moves back into it, so that no search ends early.
        for (int at = hole + 1 & mask; names[at] != null; at = at + 1 & mask) {
            if ((at - home(names[at]) & mask) >= (at - hole & mask)) {
                names[hole] = names[at];
                values[hole] = values[at];
                hole = at;
            }
        }
        names[hole] = null;
        values[hole] = null;
    }

    public int size() {
        return size;
    }

    private void insert(byte[] name, Object value) {
        int mask = names.length - 1;
        int place = home(name);
        while (names[place] != null) {
            place = place + 1 & mask;
        }
        names[place] = name;
        values[place] = value;
        size++;
    }

    private void grow() {
        byte[][] oldNames = names;
        Object[] oldValues = values;
        names = new byte[oldNames.length * 2][];
        values = new Object[names.length];
        size = 0;
        for (int i = 0; i < oldNames.length; i++) {
            if (oldNames[i] != null) {
                insert(oldNames[i], oldValues[i]);
            }
        }
    }

    private int home(byte[] name) {
        return hash(ByteBuffer.wrap(name), 0, name.length) & names.length - 1;
    }

    @SuppressWarnings("unchecked")
    private T value(int place) {
        return (T) values[place];
    }

    private static boolean equal(byte[] name, ByteBuffer in, int at) {
        for (int i = 0; i < name.length; i++) {
            if (name[i] != in.get(at + i)) {
                return false;
            }
        }
        return true;
    }

    private static int hash(ByteBuffer in, int at, int length) {
        int hash = 0;
        for (int i = 0; i < length; i++) {
            hash = 31 * hash + in.get(at + i);
        }
        return hash ^ hash >>> 15;
    }
}
