package io.weir.transport.gateway;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** A pattern of names in which {@code *} stands for anything, also for nothing. Looks at bytes where they stand. */
final class NamePattern {
    private final byte[] pattern;

    NamePattern(String pattern) {
        this.pattern = pattern.getBytes(StandardCharsets.UTF_8);
    }

    /** Goes back to the last star only, so it takes pattern times name steps at the most. */
    boolean matches(ByteBuffer in, int at, int length) {
        int p = 0;
        int n = 0;
        int star = -1;
        int starName = 0;
        while (n < length) {
            if (p < pattern.length && pattern[p] == '*') {
                star = p++;
                starName = n;
            } else if (p < pattern.length && pattern[p] == in.get(at + n)) {
                p++;
                n++;
            } else if (star >= 0) {
                p = star + 1;
                n = ++starName;
            } else {
                return false;
            }
        }
        while (p < pattern.length && pattern[p] == '*') {
            p++;
        }
        return p == pattern.length;
    }
}
