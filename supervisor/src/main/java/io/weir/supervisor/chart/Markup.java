package io.weir.supervisor.chart;

import java.util.Locale;

/** Lines of SVG or HTML, the same whatever the machine's locale. */
public final class Markup {
    private final StringBuilder lines = new StringBuilder(8192);

    /** Adds a line; text from elsewhere among {@code values} has to be {@link #escaped}. */
    public void line(String format, Object... values) {
        lines.append(String.format(Locale.ROOT, format, values)).append('\n');
    }

    /** Adds what is markup already. */
    public void raw(String markup) {
        lines.append(markup);
    }

    @Override
    public String toString() {
        return lines.toString();
    }

    /** A length in pixels. */
    static String px(double pixels) {
        String fixed = String.format(Locale.ROOT, "%.2f", pixels);
        return fixed.endsWith(".00") ? fixed.substring(0, fixed.length() - 3) : fixed;
    }

    /** Escapes what XML and HTML reserve and replaces what XML cannot hold at all. */
    public static String escaped(String text) {
        StringBuilder escaped = new StringBuilder(text.length() + 16);
        text.codePoints().forEach(c -> {
            switch (c) {
                case '&' -> escaped.append("&amp;");
                case '<' -> escaped.append("&lt;");
                case '>' -> escaped.append("&gt;");
                case '\'' -> escaped.append("&#39;");
                case '"' -> escaped.append("&quot;");
                default -> escaped.appendCodePoint(legal(c) ? c : 0xFFFD);
            }
        });
        return escaped.toString();
    }

    private static boolean legal(int c) {
        return c == '\t' || c == '\n' || c >= 0x20 && (c < 0xD800 || c > 0xDFFF) && c < 0xFFFE || c > 0xFFFF;
    }
}
