package io.weir.cluster.failpoints;

import java.util.Locale;
import java.util.SplittableRandom;
import java.util.function.IntSupplier;

/**
 * What befalls the frames in which a broker asks others for tokens and lends them some: these parts of them are lost or
 * sent twice, as a seed draws it.
 */
public record LoanTrouble(double lost, double repeated, long seed) {
    public static final LoanTrouble NONE = new LoanTrouble(0, 0, 0);

    public LoanTrouble {
        if (!(lost >= 0 && repeated >= 0 && lost + repeated <= 1)) {
            throw new IllegalArgumentException(
                    "parts of the frames are 0 to 1 together, not " + lost + " lost and " + repeated + " repeated");
        }
    }

    /** As {@link #toString} writes it; an empty text is {@link #NONE}. */
    public static LoanTrouble parse(String text) {
        if (text.isBlank()) {
            return NONE;
        }
        String[] parts = text.strip().split(":");
        if (parts.length != 3) {
            throw new IllegalArgumentException("'" + text.strip() + "' is not as in lost=0.2:repeated=0.2:seed=7");
        }
        return new LoanTrouble(
                Double.parseDouble(value(parts[0], "lost")),
                Double.parseDouble(value(parts[1], "repeated")),
                Long.parseLong(value(parts[2], "seed")));
    }

    private static String value(String part, String name) {
        if (!part.startsWith(name + "=")) {
            throw new IllegalArgumentException("'" + part + "' is not as in " + name + "=…");
        }
        return part.substring(name.length() + 1);
    }

    /** How often each frame is sent. For one thread. */
    public IntSupplier copies() {
        SplittableRandom random = new SplittableRandom(seed);
        return () -> {
            double drawn = random.nextDouble();
            return drawn < lost ? 0 : drawn < lost + repeated ? 2 : 1;
        };
    }

    @Override
    public String toString() {
        return String.format(Locale.ROOT, "lost=%s:repeated=%s:seed=%d", lost, repeated, seed);
    }
}
