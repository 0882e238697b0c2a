package io.weir.supervisor.cli.lab;

import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.lab.CsvTable;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabReport.Table;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * The files of one run of the lab: tables as CSV, all in one file or each in its own, and charts as SVG. Made before
 * the first experiment, so that a path that can't be written is known before any work and not after it.
 */
final class LabFiles {
    private static final OpenOption[] ANEW = {
        StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING
    };
    private static final OpenOption[] AFTER = {
        StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND
    };

    private final Path csvFile;
    private final Path csvDirectory;
    private final Path plotDirectory;
    private final Set<Path> written = new HashSet<>();

    /** Either may be null: then nothing of that kind is written. A {@code csv} that ends in / is a directory. */
    LabFiles(String csv, Path plot) {
        Path csvPath = csv == null ? null : path(csv);
        boolean many = csvPath != null && (csv.endsWith("/") || Files.isDirectory(csvPath));
        csvFile = many || csv == null ? null : writableFile("--csv", csvPath);
        csvDirectory = many ? writableDirectory("--csv", csvPath) : null;
        plotDirectory = plot == null ? null : writableDirectory("--plot", plot);
    }

    /** Writes what {@code report} holds; the answer are the charts' files. */
    List<String> write(String experiment, LabReport report) {
        for (Table table : report.tables()) {
            writeTable(experiment, table);
        }
        List<String> charts = new ArrayList<>();
        if (plotDirectory != null) {
            for (LineChart chart : report.charts()) {
                Path file = unused(plotDirectory, experiment, chart.fileName(), ".svg");
                write(file, chart.svg(), ANEW);
                charts.add(file.toString());
            }
        }
        return charts;
    }

    private void writeTable(String experiment, Table table) {
        String csv = CsvTable.write(experiment, table);
        if (csvDirectory != null) {
            write(unused(csvDirectory, experiment, table.title(), ".csv"), csv, ANEW);
        } else if (csvFile != null && written.add(csvFile)) {
            write(csvFile, csv, ANEW);
        } else if (csvFile != null) {
            write(csvFile, "\n" + csv, AFTER);
        }
    }

    /** A file named after the experiment and {@code title}; numbered if this run has already written that one. */
    private Path unused(Path directory, String experiment, String title, String ending) {
        String slug = title.toLowerCase(Locale.ROOT)
                .replaceAll("[^\\p{L}\\p{N}]+", "-")
                .replaceAll("^-|-$", "");
        String name = slug.isEmpty() || slug.equals(experiment)
                ? experiment
                : slug.startsWith(experiment + "-") ? slug : experiment + "-" + slug;
        Path file = directory.resolve(name + ending);
        for (int i = 2; !written.add(file); i++) {
            file = directory.resolve(name + "-" + i + ending);
        }
        return file;
    }

    private static void write(Path file, String content, OpenOption[] how) {
        try {
            Files.writeString(file, content, how);
        } catch (IOException e) {
            throw CliException.unavailable("can't write " + file + ": " + e);
        }
    }

    private static Path path(String csv) {
        try {
            return Path.of(csv);
        } catch (InvalidPathException e) {
            throw CliException.usage("--csv is no path: " + e.getMessage());
        }
    }

    private static Path writableFile(String option, Path file) {
        Path parent = file.toAbsolutePath().getParent();
        if (!Files.isDirectory(parent)) {
            throw CliException.unavailable(option + " " + file + ": there is no directory " + parent);
        }
        return writable(option, file, Files.exists(file) ? file : parent);
    }

    private static Path writableDirectory(String option, Path directory) {
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            String why = Files.exists(directory) ? "it is a file" : e.toString();
            throw CliException.unavailable(option + " " + directory + ": can't make that directory: " + why);
        }
        return writable(option, directory, directory);
    }

    private static Path writable(String option, Path path, Path needed) {
        if (!Files.isWritable(needed)) {
            throw CliException.unavailable(option + " " + path + ": no permission to write to " + needed);
        }
        return path;
    }
}
