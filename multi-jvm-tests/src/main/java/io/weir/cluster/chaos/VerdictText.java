package io.weir.cluster.chaos;

import io.weir.cluster.history.HistoryCheck;
import io.weir.cluster.history.Verdict;
import io.weir.cluster.history.Violation;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Verdicts for people, one line each with what was found below, and for scripts. */
public final class VerdictText {
    private VerdictText() {}

    public static List<String> lines(HistoryCheck check) {
        List<String> lines = new ArrayList<>();
        for (Verdict verdict : check.verdicts()) {
            lines.add(String.format(
                    Locale.ROOT,
                    "%-2s  %-27s %-12s %s",
                    verdict.invariant(),
                    verdict.invariant().title(),
                    verdict.outcome().word(),
                    verdict.text()));
            verdict.violations().forEach(found -> lines.add("      " + found.text()));
        }
        lines.add(conclusion(check));
        return lines;
    }

    private static String conclusion(HistoryCheck check) {
        long violated = check.verdicts().stream().filter(Verdict::violated).count();
        long held = check.verdicts().stream().filter(Verdict::held).count();
        if (violated > 0) {
            return violated + " of " + (held + violated) + " checked invariants are violated";
        }
        return held == 0 ? "nothing could be checked" : "all " + held + " checked invariants held";
    }

    /** As {@code -o json} prints them. */
    public static List<Map<String, Object>> json(HistoryCheck check) {
        return check.verdicts().stream().map(VerdictText::json).toList();
    }

    private static Map<String, Object> json(Verdict verdict) {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("invariant", verdict.invariant().name());
        all.put("title", verdict.invariant().title());
        all.put("outcome", verdict.outcome().word());
        all.put("text", verdict.text());
        all.put(
                "violations",
                verdict.violations().stream().map(VerdictText::json).toList());
        return all;
    }

    private static Map<String, Object> json(Violation violation) {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("text", violation.text());
        violation.window().ifPresent(window -> {
            all.put("topic", window.topic().value());
            all.put("fromNs", window.fromNs());
            all.put("toNs", window.toNs());
            all.put("messages", window.messages());
        });
        return all;
    }
}
