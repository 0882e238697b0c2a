package io.weir.supervisor.lab;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.supervisor.lab.LabReport.Estimate;
import io.weir.supervisor.lab.LabReport.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class CsvTableTest {
    @Test
    void shouldSplitAColumnInTwoWhenItHoldsAnEstimate() {
        Table table = new Table(
                "delays",
                List.of("k", "delay"),
                List.of(List.of(1, new Estimate(0.1, 0.02)), List.of(2, "unknown"), List.of(3, 0.30000000000000004)));

        assertThat(CsvTable.write("drl", table))
                .isEqualTo("experiment,table,k,delay,delay ±95%\n"
                        + "drl,delays,1,0.1,0.02\n"
                        + "drl,delays,2,unknown,\n"
                        + "drl,delays,3,0.30000000000000004,\n");
    }

    @Test
    void shouldReadBackWhatWasWrittenWhenCellsHoldAnyCharacter() {
        for (long seed = 1; seed <= 500; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            List<List<Object>> rows = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                rows.add(List.of(word(random), word(random)));
            }
            String title = word(random);

            List<List<String>> read =
                    CsvReader.read(CsvTable.write("e", new Table(title, List.of("a", word(random)), rows)));

            assertThat(read).as("seed %d", seed).hasSize(5);
            for (int i = 0; i < 4; i++) {
                assertThat(read.get(i + 1))
                        .as("seed %d, row %d", seed, i)
                        .isEqualTo(List.of(
                                "e", title, rows.get(i).get(0), rows.get(i).get(1)));
            }
        }
    }

    private static String word(SplittableRandom random) {
        StringBuilder word = new StringBuilder();
        for (int i = random.nextInt(6); i > 0; i--) {
            word.append("a,\"\n\r ;ß".charAt(random.nextInt(8)));
        }
        return word.toString();
    }
}
