package io.weir.cluster.bench;

import io.weir.config.Endpoint;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalDouble;

/** What a process has used so far. */
public interface Expense {
    /** Nothing where the process does not tell. */
    record Sample(
            OptionalDouble cpuSeconds,
            OptionalDouble dataPathSeconds,
            OptionalDouble allocatedBytes,
            OptionalDouble residentBytes,
            OptionalDouble heapBytes) {
        private static final OptionalDouble UNKNOWN = OptionalDouble.empty();
        static final Sample NONE = new Sample(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);

        public static Sample sum(List<Expense> expenses) {
            if (expenses.isEmpty()) {
                return NONE;
            }
            List<Sample> samples = expenses.stream().map(Expense::sample).toList();
            return new Sample(
                    sumOf(samples.stream().map(Sample::cpuSeconds).toList()),
                    sumOf(samples.stream().map(Sample::dataPathSeconds).toList()),
                    sumOf(samples.stream().map(Sample::allocatedBytes).toList()),
                    sumOf(samples.stream().map(Sample::residentBytes).toList()),
                    sumOf(samples.stream().map(Sample::heapBytes).toList()));
        }

        /** Of a sum that lacks a part, nothing is known. */
        private static OptionalDouble sumOf(List<OptionalDouble> parts) {
            return parts.stream().allMatch(OptionalDouble::isPresent)
                    ? OptionalDouble.of(parts.stream()
                            .mapToDouble(OptionalDouble::getAsDouble)
                            .sum())
                    : OptionalDouble.empty();
        }
    }

    Sample sample();

    /** A process of this machine, from /proc: CPU in ticks of 10 ms, and its resident set. */
    record OfProcess(long pid) implements Expense {
        private static final double TICKS_PER_SECOND = 100;

        @Override
        public Sample sample() {
            try {
                String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
                // The name in parentheses may hold blanks; user and system time are the 12th and 13th field after it.
                String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
                double ticks = Double.parseDouble(fields[11]) + Double.parseDouble(fields[12]);
                return new Sample(
                        OptionalDouble.of(ticks / TICKS_PER_SECOND),
                        Sample.UNKNOWN,
                        Sample.UNKNOWN,
                        residentBytes(Files.readString(Path.of("/proc", Long.toString(pid), "status"))),
                        Sample.UNKNOWN);
            } catch (IOException | RuntimeException e) {
                return Sample.NONE;
            }
        }
    }

    /** {@code VmRSS: 1234 kB}. */
    private static OptionalDouble residentBytes(String status) {
        return status.lines()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToDouble(line -> 1024 * Double.parseDouble(line.replaceAll("\\D", "")))
                .findFirst();
    }

    /** A Weir broker, from its metrics; a server that is none has nothing to say there. */
    record OfBroker(Endpoint http) implements Expense {
        private static final Duration TIMEOUT = Duration.ofSeconds(2);
        private static final HttpClient HTTP = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(TIMEOUT)
                .build();

        @Override
        public Sample sample() {
            HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + http + "/metrics"))
                    .timeout(TIMEOUT)
                    .build();
            try {
                HttpResponse<String> answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
                return answer.statusCode() == 200 ? parse(answer.body()) : Sample.NONE;
            } catch (IOException e) {
                return Sample.NONE;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return Sample.NONE;
            }
        }

        static Sample parse(String metrics) {
            OptionalDouble cpuNs = metric(metrics, "weir_process_cpu_time_ns_total");
            return new Sample(
                    cpuNs.isPresent() ? OptionalDouble.of(cpuNs.getAsDouble() / 1e9) : OptionalDouble.empty(),
                    metric(metrics, "weir_data_path_cpu_seconds_total"),
                    metric(metrics, "weir_data_path_allocated_bytes_total"),
                    metric(metrics, "weir_process_resident_bytes"),
                    metric(metrics, "weir_jvm_heap_after_collection_bytes"));
        }

        /** The sum over a metric's label sets. */
        public static OptionalDouble metric(String metrics, String name) {
            double[] values = metrics.lines()
                    .filter(line -> line.startsWith(name + "{") || line.startsWith(name + " "))
                    .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                    .filter(Double::isFinite)
                    .toArray();
            return values.length == 0
                    ? OptionalDouble.empty()
                    : OptionalDouble.of(java.util.Arrays.stream(values).sum());
        }
    }
}
