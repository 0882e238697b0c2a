package io.weir.transport.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.weir.transport.Sessions;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Sessions that chance has changed, decoded as a whole and in pieces: what comes of it is the same, never an exception,
 * and never a wish for more bytes than the bounds allow.
 */
class DecoderFuzzTest {
    private static final int MAX_MESSAGE = 100;
    private static final int MAX_BODY = 300;
    private static final int ROUNDS = 5_000;

    private final CommandDecoder decoder = new CommandDecoder(MAX_MESSAGE, MAX_BODY);

    @Test
    void shouldDecodeTheSameHoweverTheBytesAreCut() {
        long seed = Long.getLong("weir.fuzz.seed", 20_261);
        Sessions sessions = new Sessions(seed);
        int errors = 0;
        int commands = 0;
        for (int round = 0; round < ROUNDS; round++) {
            byte[] valid = sessions.valid(MAX_MESSAGE / 2);
            byte[] session = round % 5 == 0 ? valid : sessions.mutated(valid);
            String what = "seed " + seed + ", round " + round;
            List<String> whole = decode(session, session.length, what);
            assertThat(decode(session, 1, what)).as(what).isEqualTo(whole);
            assertThat(decode(session, sessions.random().nextInt(session.length + 1) + 1, what))
                    .as(what)
                    .isEqualTo(whole);
            if (round % 5 == 0) {
                assertThat(whole).as(what).noneMatch(line -> line.startsWith("E_"));
            }
            errors += !whole.isEmpty() && whole.get(whole.size() - 1).startsWith("E_") ? 1 : 0;
            commands += whole.size();
        }
        // Else chance never got anywhere, or never broke anything.
        assertThat(errors).isBetween(ROUNDS / 4, ROUNDS * 4 / 5);
        assertThat(commands).isGreaterThan(ROUNDS);
    }

    private List<String> decode(byte[] session, int step, String what) {
        ByteBuffer in = ByteBuffer.wrap(session);
        List<String> decoded = new ArrayList<>();
        int from = 0;
        int end = 0;
        while (end < session.length) {
            end = Math.min(session.length, end + step);
            int taken = decoder.decode(in, from, end);
            while (taken > 0) {
                decoded.add(seen(session, from, taken, what));
                from += taken;
                taken = decoder.decode(in, from, end);
            }
            if (taken == CommandDecoder.BAD) {
                decoded.add(decoder.error());
                return decoded;
            }
            if (decoder.wantedBytes() <= end - from || decoder.wantedBytes() > MAX_BODY + 300) {
                fail(what + ": has " + (end - from) + " bytes and wants " + decoder.wantedBytes());
            }
        }
        return decoded;
    }

    private String seen(byte[] session, int from, int taken, String what) {
        Verb verb = decoder.verb();
        String text = verb + " " + taken;
        if (verb == Verb.PUB || verb == Verb.DPUB || verb == Verb.IDENTIFY || verb == Verb.AUTH) {
            assertThat(decoder.bodyAt() + decoder.bodyLength()).as(what).isEqualTo(from + taken);
            text += " " + Arrays.hashCode(Arrays.copyOfRange(session, decoder.bodyAt(), from + taken));
        }
        if (verb == Verb.MPUB) {
            text += " " + decoder.messages() + " from " + (decoder.bodyAt() - from);
        }
        if (verb == Verb.FIN || verb == Verb.REQ || verb == Verb.TOUCH) {
            text += " " + decoder.id();
        }
        if (verb == Verb.REQ || verb == Verb.RDY || verb == Verb.DPUB) {
            text += " " + decoder.number();
        }
        return text;
    }
}
