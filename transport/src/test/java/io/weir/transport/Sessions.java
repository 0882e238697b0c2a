package io.weir.transport;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;

/** Sessions of clients as bytes, valid ones and what chance makes of them. */
public final class Sessions {
    private static final int[] LENGTHS = {
        0, 1, -1, 4, 255, 256, 65_535, 65_536, 1 << 20, Integer.MAX_VALUE, Integer.MIN_VALUE
    };
    private static final String[] WORDS = {
        "PUB ",
        "MPUB ",
        "DPUB ",
        "SUB ",
        "RDY ",
        "FIN ",
        "REQ ",
        "TOUCH ",
        "CLS\n",
        "NOP\n",
        "AUTH\n",
        "IDENTIFY\n",
        "\n",
        "\r\n",
        " ",
        "#ephemeral",
        "99999999999999999999",
        "-1"
    };

    private final Random random;

    public Sessions(long seed) {
        random = new Random(seed);
    }

    public Random random() {
        return random;
    }

    /** Commands after the magic, all of them valid. */
    public byte[] valid(int maxBody) {
        ByteArrayOutputStream session = new ByteArrayOutputStream();
        for (int i = random.nextInt(8) + 1; i > 0; i--) {
            String topic = "t" + random.nextInt(3) + (random.nextInt(4) == 0 ? "#ephemeral" : "");
            String end = random.nextInt(4) == 0 ? "\r\n" : "\n";
            switch (random.nextInt(10)) {
                case 0 -> add(session, "PUB " + topic + end, body(maxBody));
                case 1 -> add(session, "DPUB " + topic + " " + random.nextInt(100) + end, body(maxBody));
                case 2 -> batch(session, topic + end, maxBody);
                case 3 -> add(session, "FIN " + id() + end);
                case 4 -> add(session, "REQ " + id() + " " + random.nextInt(100) + end);
                case 5 -> add(session, "TOUCH " + id() + end);
                case 6 -> add(session, "RDY " + random.nextInt(10) + end);
                case 7 -> add(session, "SUB " + topic + " c" + end);
                case 8 -> add(session, "IDENTIFY" + end, "{\"client_id\":\"x\"}".getBytes(StandardCharsets.US_ASCII));
                default -> add(session, "NOP" + end);
            }
        }
        return session.toByteArray();
    }

    private void batch(ByteArrayOutputStream session, String line, int maxBody) {
        ByteArrayOutputStream batch = new ByteArrayOutputStream();
        int messages = random.nextInt(4) + 1;
        batch.writeBytes(whole(messages));
        for (int i = 0; i < messages; i++) {
            byte[] body = body(maxBody);
            batch.writeBytes(whole(body.length));
            batch.writeBytes(body);
        }
        add(session, "MPUB " + line, batch.toByteArray());
    }

    private String id() {
        return String.format("%016x", random.nextInt(5));
    }

    private byte[] body(int most) {
        byte[] body = new byte[random.nextInt(most) + 1];
        if (random.nextBoolean()) {
            random.nextBytes(body);
        }
        return body;
    }

    private static void add(ByteArrayOutputStream session, String line) {
        session.writeBytes(line.getBytes(StandardCharsets.US_ASCII));
    }

    private static void add(ByteArrayOutputStream session, String line, byte[] body) {
        add(session, line);
        session.writeBytes(whole(body.length));
        session.writeBytes(body);
    }

    private static byte[] whole(int value) {
        return ByteBuffer.allocate(4).putInt(value).array();
    }

    /** A few changes at random places. */
    public byte[] mutated(byte[] bytes) {
        byte[] changed = bytes;
        for (int i = random.nextInt(4); i >= 0 && changed.length > 0; i--) {
            int at = random.nextInt(changed.length);
            int length = Math.min(changed.length - at, random.nextInt(16) + 1);
            changed = switch (random.nextInt(7)) {
                case 0 -> {
                    changed = changed.clone();
                    changed[at] ^= (byte) (1 << random.nextInt(8));
                    yield changed;
                }
                case 1 -> {
                    changed = changed.clone();
                    changed[at] = (byte) random.nextInt(256);
                    yield changed;
                }
                case 2 -> spliced(changed, at, 0, whole(LENGTHS[random.nextInt(LENGTHS.length)]));
                case 3 -> spliced(changed, at, Math.min(4, length), whole(LENGTHS[random.nextInt(LENGTHS.length)]));
                case 4 -> spliced(changed, at, length, new byte[0]);
                case 5 -> spliced(changed, at, 0, Arrays.copyOfRange(changed, at, at + length));
                default ->
                    spliced(changed, at, 0, WORDS[random.nextInt(WORDS.length)].getBytes(StandardCharsets.US_ASCII));
            };
        }
        return changed;
    }

    private static byte[] spliced(byte[] bytes, int at, int removed, byte[] added) {
        byte[] result = new byte[bytes.length - removed + added.length];
        System.arraycopy(bytes, 0, result, 0, at);
        System.arraycopy(added, 0, result, at, added.length);
        System.arraycopy(bytes, at + removed, result, at + added.length, bytes.length - at - removed);
        return result;
    }
}
