package io.weir.limiter.specification;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limiter.specification.ModelChecker.Answer;
import io.weir.limiter.specification.Specification.Run;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * TLC over the modules of the supply protocol: as they are every invariant holds in all reachable states, and without
 * any one rule the invariant that is named for it does not. With {@code -Dweir.tlc=larger} the larger configurations
 * instead.
 */
class SpecificationTest {
    private static final Logger LOG = LoggerFactory.getLogger(SpecificationTest.class);
    private static final boolean LARGER = "larger".equals(System.getProperty("weir.tlc"));
    private static final int AT_ONCE = 2;

    @Test
    @Timeout(value = 2, unit = TimeUnit.HOURS)
    void shouldHoldAsItIsAndNotWithoutAnyOneRule() throws Exception {
        List<Run> runs = Specification.runs(LARGER);
        List<Answer> answers = checkAll(runs);
        assertThat(answers.stream().filter(answer -> !answer.asExpected()))
                .as("runs that did not end as the configuration says")
                .extracting(answer -> answer.line() + "\n" + answer.output())
                .isEmpty();
        // An empty folder, or comments that nobody understands, would pass too.
        if (!LARGER) {
            assertThat(runs).filteredOn(run -> run.violated().isEmpty()).hasSizeGreaterThanOrEqualTo(8);
            assertThat(runs).filteredOn(run -> run.violated().isPresent()).hasSizeGreaterThanOrEqualTo(30);
        }
    }

    /** Two at a time; one line of the table each, in the order of the files. */
    private static List<Answer> checkAll(List<Run> runs) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(LARGER ? 1 : AT_ONCE);
        long beganNs = System.nanoTime();
        try {
            List<Future<Answer>> futures = new ArrayList<>();
            for (Run run : runs) {
                // Numbered: a rule may be needed for two invariants.
                String name = (futures.size() + 1) + "-" + run.name().replaceAll("\\W+", "-");
                Path folder = Path.of("target", "tlc", name);
                futures.add(
                        pool.submit(() -> ModelChecker.check(run, folder, LARGER ? 2_000 : 500, LARGER ? 3_600 : 240)));
            }
            List<Answer> answers = new ArrayList<>();
            for (Future<Answer> future : futures) {
                Answer answer = future.get();
                LOG.info("{}", answer.line());
                answers.add(answer);
            }
            LOG.info(
                    "TLC  {} runs, {} states in all, in {} s",
                    answers.size(),
                    answers.stream().mapToLong(Answer::states).sum(),
                    (System.nanoTime() - beganNs) / 1_000_000_000L);
            return answers;
        } finally {
            pool.shutdownNow();
        }
    }
}
