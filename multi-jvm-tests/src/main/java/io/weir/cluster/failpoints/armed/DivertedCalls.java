package io.weir.cluster.failpoints.armed;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A class file in which {@code System.currentTimeMillis()} is another class's method of the same name and type. Code
 * refers to methods by entries of the constant pool, so that one entry has to change, and two are added at the pool's
 * end:
 *
 * <pre>
 *   Methodref(class → System, name and type → currentTimeMillis ()J)      class → the entry below
 *   …
 *   Class(name → the next)   Utf8(the other class's name)
 * </pre>
 */
final class DivertedCalls {
    private static final String SYSTEM = "java/lang/System";
    private static final String METHOD = "currentTimeMillis";
    private static final String TYPE = "()J";
    private static final int HEAD = 8;
    private static final int UTF8 = 1;
    private static final int LONG = 5;
    private static final int DOUBLE = 6;
    private static final int CLASS = 7;
    private static final int STRING = 8;
    private static final int METHODREF = 10;
    private static final int METHOD_HANDLE = 15;
    private static final int METHOD_TYPE = 16;
    private static final int MODULE = 19;
    private static final int PACKAGE = 20;

    private final ByteBuffer file;
    private final int count;
    /** Where each entry's tag is. */
    private final int[] at;

    private final int end;

    private DivertedCalls(byte[] classFile) {
        file = ByteBuffer.wrap(classFile);
        count = file.getShort(HEAD) & 0xffff;
        at = new int[count];
        int next = HEAD + 2;
        for (int i = 1; i < count; i++) {
            at[i] = next;
            int tag = file.get(next);
            next += 1 + length(tag, next);
            if (tag == LONG || tag == DOUBLE) {
                // They count twice.
                i++;
            }
        }
        end = next;
    }

    private int length(int tag, int position) {
        return switch (tag) {
            case UTF8 -> 2 + (file.getShort(position + 1) & 0xffff);
            case LONG, DOUBLE -> 8;
            case CLASS, STRING, METHOD_TYPE, MODULE, PACKAGE -> 2;
            case METHOD_HANDLE -> 3;
            default -> 4;
        };
    }

    /** Null if there is nothing to divert. */
    static byte[] of(byte[] classFile, String otherClass) {
        DivertedCalls calls = new DivertedCalls(classFile);
        List<Integer> found = calls.found();
        return found.isEmpty() || calls.count > 0xffff - 2 ? null : calls.diverted(found, otherClass);
    }

    private List<Integer> found() {
        List<Integer> found = new ArrayList<>();
        for (int i = 1; i < count; i++) {
            if (at[i] != 0 && file.get(at[i]) == METHODREF && isWanted(at[i])) {
                found.add(at[i]);
            }
        }
        return found;
    }

    private boolean isWanted(int position) {
        int owner = at[index(position + 1)];
        int nameAndType = at[index(position + 3)];
        return text(index(owner + 1)).equals(SYSTEM)
                && text(index(nameAndType + 1)).equals(METHOD)
                && text(index(nameAndType + 3)).equals(TYPE);
    }

    private int index(int position) {
        return file.getShort(position) & 0xffff;
    }

    private String text(int entry) {
        int position = at[entry];
        return new String(file.array(), position + 3, index(position + 1), StandardCharsets.UTF_8);
    }

    private byte[] diverted(List<Integer> methods, String otherClass) {
        byte[] name = otherClass.getBytes(StandardCharsets.UTF_8);
        ByteBuffer out = ByteBuffer.allocate(file.capacity() + 3 + 3 + name.length);
        out.put(file.array(), 0, end);
        out.put((byte) CLASS).putShort((short) (count + 1));
        out.put((byte) UTF8).putShort((short) name.length).put(name);
        out.put(file.array(), end, file.capacity() - end);
        out.putShort(HEAD, (short) (count + 2));
        methods.forEach(position -> out.putShort(position + 1, (short) count));
        return out.array();
    }
}
