package io.weir.supervisor.lab;

import java.util.ArrayList;
import java.util.List;

/**
 * A small reader of comma-separated values after RFC 4180, to read back what was written. An empty line is an empty
 * record.
 */
public final class CsvReader {
    private CsvReader() {}

    public static List<List<String>> read(String csv) {
        List<List<String>> records = new ArrayList<>();
        List<String> record = new ArrayList<>();
        StringBuilder field = new StringBuilder();
        boolean quoted = false;
        for (int i = 0; i < csv.length(); i++) {
            char c = csv.charAt(i);
            if (quoted && c == '"' && i + 1 < csv.length() && csv.charAt(i + 1) == '"') {
                field.append('"');
                i++;
            } else if (c == '"') {
                quoted = !quoted;
            } else if (!quoted && (c == ',' || c == '\n')) {
                if (c == ',' || !record.isEmpty() || !field.isEmpty()) {
                    record.add(field.toString());
                }
                field.setLength(0);
                if (c == '\n') {
                    records.add(record);
                    record = new ArrayList<>();
                }
            } else {
                field.append(c);
            }
        }
        if (quoted || !record.isEmpty() || !field.isEmpty()) {
            throw new IllegalArgumentException("the last record does not end: " + csv);
        }
        return records;
    }
}
