package io.weir.limiter.workflow.algorithm;

import java.util.Arrays;

/**
 * Small numbers for keys, at most so many at once: open addressing with linear probing, without allocation. A key that
 * finds no number is not kept; what becomes of it is the caller's rule.
 */
final class LongIndex {
    static final int NONE = -1;

    private final long[] keys;
    /** Number + 1 of the key that lies here, 0 if none does. */
    private final int[] cells;
    /** Numbers that are free, a stack. */
    private final int[] free;

    private int freeCount;

    LongIndex(int most) {
        if (most < 1 || most > 1 << 24) {
            throw new IllegalArgumentException("an index of " + most + " keys: 1 to " + (1 << 24));
        }
        keys = new long[most];
        cells = new int[Integer.highestOneBit(most) * 4];
        free = new int[most];
        for (int i = 0; i < most; i++) {
            free[i] = most - 1 - i;
        }
        freeCount = most;
    }

    int most() {
        return keys.length;
    }

    int size() {
        return keys.length - freeCount;
    }

    long key(int number) {
        return keys[number];
    }

    int find(long key) {
        for (int cell = home(key); cells[cell] != 0; cell = next(cell)) {
            if (keys[cells[cell] - 1] == key) {
                return cells[cell] - 1;
            }
        }
        return NONE;
    }

    /** The key's number, a new one if it has none yet, or {@link #NONE} if all are taken. */
    int add(long key) {
        int cell = home(key);
        while (cells[cell] != 0) {
            if (keys[cells[cell] - 1] == key) {
                return cells[cell] - 1;
            }
            cell = next(cell);
        }
        if (freeCount == 0) {
            return NONE;
        }
        int number = free[--freeCount];
        keys[number] = key;
        cells[cell] = number + 1;
        return number;
    }

    /** Frees the key's number. Those that were probed past its cell move up, so no gravestones are left. */
    void remove(long key) {
        int cell = home(key);
        while (cells[cell] != 0 && keys[cells[cell] - 1] != key) {
            cell = next(cell);
        }
        if (cells[cell] == 0) {
            return;
        }
        free[freeCount++] = cells[cell] - 1;
        int gap = cell;
        for (int at = next(gap); cells[at] != 0; at = next(at)) {
            int wanted = home(keys[cells[at] - 1]);
            if ((at - wanted & cells.length - 1) >= (at - gap & cells.length - 1)) {
                cells[gap] = cells[at];
                gap = at;
            }
        }
        cells[gap] = 0;
    }

    /** The numbers in use, into {@code to}; answers how many. */
    int numbers(int[] to) {
        int count = 0;
        for (int cell : cells) {
            if (cell != 0) {
                to[count++] = cell - 1;
            }
        }
        Arrays.sort(to, 0, count);
        return count;
    }

    private int home(long key) {
        long mixed = (key ^ key >>> 32) * 0x9E3779B97F4A7C15L;
        return (int) (mixed >>> 40) & cells.length - 1;
    }

    private int next(int cell) {
        return cell + 1 & cells.length - 1;
    }
}
