package io.weir.cluster.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.cluster.demo.Picture.BrokerView;
import io.weir.cluster.demo.Picture.Event;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class ScreenTest {
    private static final String COLOURS = "\u001b\\[\\d+m";

    private static Picture picture(List<Double> admitted, BrokerView... brokers) {
        List<Event> events = new ArrayList<>();
        for (int i = 0; i < 9; i++) {
            events.add(new Event(i * 7, "event " + i + " with a text that is longer than a narrow terminal is wide"));
        }
        return new Picture(65, "b3 is killed", 300, 60, admitted, List.of(brokers), events);
    }

    private static Picture usual() {
        return picture(
                Collections.nCopies(30, 300.0),
                new BrokerView("b1", "", 150, 600, 149),
                new BrokerView("b2", "", 75, 0, 75),
                new BrokerView("b3", "killed", 0, 0, 0));
    }

    private static List<String> plain(Picture picture, int width, int height) {
        return new Screen(width, height, false).lines(picture);
    }

    @Test
    void shouldFillTheTerminalAndNeverLeaveIt() {
        for (int width = Screen.LEAST_WIDTH; width <= 200; width += 7) {
            for (int height = Screen.LEAST_HEIGHT; height <= 60; height++) {
                int most = width;
                assertThat(plain(usual(), width, height))
                        .as("%d × %d", width, height)
                        .hasSize(height)
                        .allMatch(line -> line.length() <= most);
            }
        }
    }

    @Test
    void shouldDrawWithColoursWhatItDrawsWithout() {
        List<String> coloured = new Screen(100, 32, true).lines(usual());

        assertThat(coloured).anyMatch(line -> line.contains("\u001b["));
        assertThat(coloured.stream().map(line -> line.replaceAll(COLOURS, "")).toList())
                .isEqualTo(plain(usual(), 100, 32));
        assertThat(plain(usual(), 100, 32)).noneMatch(line -> line.contains("\u001b"));
    }

    @Test
    void shouldDrawTheAdmittedRateUpToTheLimitsLineWhenItIsTheLimit() {
        List<String> lines = plain(usual(), 60, 32);
        int limit = indexOf(lines, "  300 ┤");

        assertThat(lines.get(limit).substring(7)).isEqualTo("█".repeat(30) + "┄".repeat(23));
        assertThat(lines.get(limit - 1).substring(7)).isBlank();
        assertThat(lines.get(limit + 1).substring(7)).isEqualTo("█".repeat(30));
    }

    @Test
    void shouldDrawAboveTheLineWhatABurstAddsAndLessBelowIt() {
        List<String> lines = plain(picture(List.of(330.0, 150.0, 0.0), new BrokerView("b1", "", 1, 1, 1)), 60, 32);
        int limit = indexOf(lines, "  300 ┤");

        assertThat(lines.get(limit - 1).substring(7)).isEqualTo("▆");
        assertThat(lines.get(limit).substring(7, 10)).isEqualTo("█┄┄");
    }

    @Test
    void shouldShowTheLatestWhenTimeIsLongerThanTheTerminalIsWide() {
        List<Double> admitted = new ArrayList<>(Collections.nCopies(100, 0.0));
        admitted.add(300.0);
        List<String> lines = plain(picture(admitted, new BrokerView("b1", "", 1, 1, 1)), 50, 32);

        assertThat(lines.get(indexOf(lines, "  300 ┤"))).endsWith("┄█").hasSize(50);
    }

    @Test
    void shouldDrawSharesOfTheLimitAndDemandsOfTheLargest() {
        List<String> lines = plain(usual(), 100, 32);
        String b1 = lines.get(indexOf(lines, "b1 "));
        String b2 = lines.get(indexOf(lines, "b2 "));

        assertThat(b1).contains("150/s", "600/s");
        assertThat(b1.substring(5, 43)).as("half of the limit").isEqualTo("█".repeat(19) + "·".repeat(19));
        assertThat(b1.substring(51, 89)).as("all of the demand").isEqualTo("█".repeat(38));
        assertThat(b2.substring(51, 89)).as("no demand").isEqualTo("·".repeat(38));
        assertThat(lines.get(indexOf(lines, "b3 "))).isEqualTo("b3   killed");
    }

    @Test
    void shouldShowTheLastEventsThatFit() {
        assertThat(plain(usual(), 100, 40)).anyMatch(line -> line.startsWith("0:00 event 0"));
        List<String> low = plain(usual(), 100, 16);
        assertThat(low).noneMatch(line -> line.startsWith("0:00 event 0"));
        assertThat(low).anyMatch(line -> line.startsWith("0:56 event 8"));
    }

    @Test
    void shouldSayTheMostImportantWhereThereIsNoRoom() {
        assertThat(Screen.small(usual(), 12, 3)).containsExactly("b3 is killed", "300/s of 30…", "b1 150/s");
        assertThat(Screen.small(usual(), 1, 1)).containsExactly("…");
    }

    @Test
    void shouldSayAllOfItInALine() {
        assertThat(Screen.line(usual()))
                .isEqualTo("1:05  300/s of 300/s;  b1 share 150, demand 600  b2 share 75, demand 0  b3 killed");
    }

    private static int indexOf(List<String> lines, String beginning) {
        for (int i = 0; i < lines.size(); i++) {
            if (lines.get(i).startsWith(beginning)) {
                return i;
            }
        }
        throw new AssertionError(beginning + " is not in\n" + String.join("\n", lines));
    }
}
