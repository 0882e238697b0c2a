package io.weir.limiter.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TraceCsvTest {
    @TempDir
    Path folder;

    @Test
    void shouldReadSecondsExactlyWhenThereIsNoHeader() throws IOException {
        assertThat(read("0.1\n0.3\n\n# a comment\n1e0\r\n1700000000.123456789\n"))
                .containsExactly(100_000_000L, 300_000_000L, 1_000_000_000L, 1_700_000_000_123_456_789L);
    }

    @Test
    void shouldRepeatATimeWhenALineCarriesACount() throws IOException {
        assertThat(read("\uFEFFtime_ns,count\n5,2\n 9 , 1\n12\n")).containsExactly(5L, 5L, 9L, 12L);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    '1\\n2\\n1.5'       | line 3: time 1.5 is before that of line 2: arrivals must be in order
                    '1\\nx'             | line 2: 'x' is not a time in seconds
                    'time_ns\\n1.5'     | line 2: '1.5' is not a time in whole nanoseconds
                    'when\\n1'          | line 1: the header's first column must be time_s or time_ns, not 'when'
                    'time_s,size\\n1,2' | line 1: the header's other columns are count and broker, in this order
                    'time_ns,broker,count\\n1,b1,2' | line 1: the header's other columns are count and broker
                    'time_ns,count,broker\\n1,2'    | line 2: a line holds a time, a count and a broker, but this one has 2
                    'time_ns,count,broker\\n1,2,'   | line 2: a broker has no name
                    '1,2,3'             | line 1: a line holds a time and perhaps a count, but this one has 3 columns
                    '1,0'               | line 1: count 0 is not at least 1
                    '1,many'            | line 1: count 'many' is not a whole number
                    '1,9999999\\n2,2'   | line 2: more than 10,000,000 messages
                    '1700000000000000'  | line 1: time 1700000000000000 s is more than 292 years; if it is in nanoseconds
                    '1e999999999'       | line 1: time 1e999999999 s is more than 292 years
                    '9999999999'        | line 1: time 9999999999 s is more than 292 years
                    '# nothing'         | holds no arrivals
                    """)
    void shouldNameLineAndRuleWhenTheContentIsWrong(String content, String message) {
        assertThatThrownBy(() -> read(content.replace("\\n", "\n")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("trace.csv")
                .hasMessageContaining(message);
    }

    @Test
    void shouldSaySoWhenTheFileIsNotText() throws IOException {
        Path file = Files.write(folder.resolve("trace.csv"), new byte[] {(byte) 0xff, (byte) 0xfe, 0});

        assertThatThrownBy(() -> TraceCsv.read(file)).hasMessageContaining("not a text file");
    }

    @Test
    void shouldReadWhatItWroteWithEveryBroker() throws IOException {
        ArrivalTrace trace = new ArrivalTrace(
                List.of("b1", "b2", "idle"), new long[] {0, 3, 3}, new int[] {1, 10, 2}, new int[] {1, 0, 1});
        StringBuilder text = new StringBuilder();
        TraceCsv.write(trace, "topic orders", text);

        assertThat(text.toString()).isEqualTo("""
                # topic orders
                # brokers: b1 b2 idle
                time_ns,count,broker
                0,1,b2
                3,10,b1
                3,2,b2
                """);
        ArrivalTrace again = TraceCsv.readTrace(Files.writeString(folder.resolve("trace.csv"), text));
        assertThat(again).usingRecursiveComparison().isEqualTo(trace);
        assertThat(read(text.toString())).as("for whom brokers do not matter").hasSize(13);
    }

    @Test
    void shouldReadThePartOfABrokerThatNothingCameTo() throws IOException {
        ArrivalTrace none = new ArrivalTrace(List.of("b1"), new long[0], new int[0], new int[0]);
        StringBuilder text = new StringBuilder();
        TraceCsv.write(none, "nothing", text);

        ArrivalTrace again = TraceCsv.readPart("b1", new BufferedReader(new StringReader(text.toString())));
        assertThat(again).usingRecursiveComparison().isEqualTo(none);
        assertThatThrownBy(() -> read(text.toString())).hasMessageContaining("holds no arrivals");
    }

    @Test
    void shouldTakeAllForOneBrokersWhenNoneIsNamed() throws IOException {
        ArrivalTrace trace = TraceCsv.readTrace(Files.writeString(folder.resolve("trace.csv"), "1\n2,3\n"));

        assertThat(trace.brokers()).hasSize(1);
        assertThat(trace.messagesAt(0)).isEqualTo(4);
    }

    private long[] read(String content) throws IOException {
        return TraceCsv.read(Files.writeString(folder.resolve("trace.csv"), content));
    }
}
