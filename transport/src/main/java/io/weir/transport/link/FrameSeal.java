package io.weir.transport.link;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.concurrent.TimeUnit;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Seals or opens one session's frames in one direction: AES-256-GCM with the sealed frame's header as associated data.
 *
 * <pre>
 *   chain 0   = HMAC-SHA256(HMAC-SHA256("weir link", X25519 secret of both brokers), direction, lives, session)
 *   key n     = HMAC-SHA256(chain n, "key")
 *   chain n+1 = HMAC-SHA256(chain n, "next"), and chain n is forgotten
 *   nonce     = 4 zero bytes, the frame's counter (8 bytes)
 * </pre>
 *
 * The nonce never repeats under a key: a session is a random number, has its keys for one direction alone, and its
 * counter only grows. The next key is due after 2²⁰ frames or an hour, whichever comes first. A frame whose counter is
 * not higher than the last one's is a replay and is not opened.
 *
 * <p>Per frame it allocates what {@link Cipher#init} takes for the new nonce, and nothing else. For one thread at a
 * time.
 */
final class FrameSeal {
    /** How much longer a sealed frame is than what is in it. */
    static final int OVERHEAD_BYTES = LinkFrames.SEALED_HEADER_BYTES + LinkFrames.TAG_BYTES;

    static final long FRAMES_A_KEY = 1L << 20;
    private static final long KEY_AGE_NS = TimeUnit.HOURS.toNanos(1);
    private static final int TAG_BITS = 8 * LinkFrames.TAG_BYTES;
    private static final int NONCE_BYTES = 12;
    private static final String HMAC = "HmacSHA256";
    private static final byte[] SALT = ascii("weir link");
    private static final byte[] KEY = ascii("key");
    private static final byte[] NEXT = ascii("next");

    private final long session;
    private final Cipher cipher;
    private final byte[] nonce = new byte[NONCE_BYTES];
    private final ByteBuffer nonceCounter =
            ByteBuffer.wrap(nonce).slice(Integer.BYTES, Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    private byte[] chain;
    private SecretKeySpec key;
    private int keyNumber;
    private long lastCounter = -1;
    private long keyUntilCounter = FRAMES_A_KEY;
    private long keySinceNs;

    /**
     * @param secret that the two brokers agreed on
     * @param direction who sends to whom, and in which of their lives; the same at both ends
     * @param session the sender's
     */
    FrameSeal(byte[] secret, String direction, long session, long nowNs) {
        this.session = session;
        keySinceNs = nowNs;
        try {
            cipher = Cipher.getInstance("AES/GCM/NoPadding");
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java can't seal links: " + e.getMessage(), e);
        }
        chain = hmac(hmac(SALT, secret), ascii(direction + "|" + session));
        key = new SecretKeySpec(hmac(chain, KEY), "AES");
    }

    long session() {
        return session;
    }

    /** The counter of the last frame that was sealed or opened; -1 before the first. */
    long lastCounter() {
        return lastCounter;
    }

    int keyNumber() {
        return keyNumber;
    }

    /** The next frame that is sealed has a new key if this one is old. */
    void renewIfOld(long nowNs) {
        if (nowNs - keySinceNs >= KEY_AGE_NS) {
            keySinceNs = nowNs;
            keyUntilCounter = lastCounter;
        }
    }

    /**
     * Seals {@code length} bytes of {@code plain} into a frame at the start of {@code sealed}, and answers the frame's
     * length.
     */
    int seal(byte[] plain, int length, UnsafeBuffer sealed) {
        if (lastCounter >= keyUntilCounter) {
            nextKey();
        }
        lastCounter++;
        LinkFrames.encodeSealedHeader(keyNumber, session, lastCounter, sealed, 0);
        try {
            begin(Cipher.ENCRYPT_MODE, lastCounter, key);
            byte[] out = sealed.byteArray();
            cipher.updateAAD(out, 0, LinkFrames.SEALED_HEADER_BYTES);
            return LinkFrames.SEALED_HEADER_BYTES
                    + cipher.doFinal(plain, 0, length, out, LinkFrames.SEALED_HEADER_BYTES);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("a frame can't be sealed: " + e.getMessage(), e);
        }
    }

    /**
     * Opens a sealed frame of this session into {@code plain}, and answers the length of what is in it; -1 if it is
     * none of the sender's, or a replay. {@code sealed} holds the frame from its start on.
     */
    int open(byte[] sealed, DirectBuffer view, int length, byte[] plain) {
        long counter = LinkFrames.counter(view, 0);
        int number = LinkFrames.number(view, 0);
        boolean next = number == keyNumber + 1;
        if (counter <= lastCounter || number != keyNumber && !next) {
            return -1;
        }
        byte[] nextChain = next ? hmac(chain, NEXT) : null;
        SecretKeySpec tried = next ? new SecretKeySpec(hmac(nextChain, KEY), "AES") : key;
        try {
            begin(Cipher.DECRYPT_MODE, counter, tried);
            cipher.updateAAD(sealed, 0, LinkFrames.SEALED_HEADER_BYTES);
            int opened = cipher.doFinal(
                    sealed, LinkFrames.SEALED_HEADER_BYTES, length - LinkFrames.SEALED_HEADER_BYTES, plain, 0);
            lastCounter = counter;
            if (next) {
                chain = nextChain;
                key = tried;
                keyNumber = number;
            }
            return opened;
        } catch (AEADBadTagException e) {
            return -1;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("a frame can't be opened: " + e.getMessage(), e);
        }
    }

    /** What was opened last has to wait: it will be opened again. Not for a seal that seals. */
    void takeBack() {
        lastCounter--;
    }

    private void begin(int mode, long counter, SecretKeySpec with) throws GeneralSecurityException {
        nonceCounter.putLong(0, counter);
        cipher.init(mode, with, new GCMParameterSpec(TAG_BITS, nonce));
    }

    private void nextKey() {
        chain = hmac(chain, NEXT);
        key = new SecretKeySpec(hmac(chain, KEY), "AES");
        keyNumber++;
        keyUntilCounter = lastCounter + FRAMES_A_KEY;
    }

    private static byte[] hmac(byte[] key, byte[] data) {
        try {
            Mac mac = Mac.getInstance(HMAC);
            mac.init(new SecretKeySpec(key, HMAC));
            return mac.doFinal(data);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java can't seal links: " + e.getMessage(), e);
        }
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
