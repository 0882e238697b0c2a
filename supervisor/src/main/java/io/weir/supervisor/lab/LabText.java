package io.weir.supervisor.lab;

import java.util.Locale;

/** Numbers in findings, written the same whatever the machine's locale. */
final class LabText {
    private LabText() {}

    static String of(String format, Object... values) {
        return String.format(Locale.ROOT, format, values);
    }
}
