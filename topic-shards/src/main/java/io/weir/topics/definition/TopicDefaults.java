package io.weir.topics.definition;

import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Sharing;
import io.weir.topics.definition.TopicDefinition.LimitSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/** The limits of topics that come to be by being used, by their names: the first pattern that fits counts. */
public final class TopicDefaults {
    private record Rule(Pattern names, Limit limit) {}

    private final List<Rule> rules = new ArrayList<>();

    /**
     * @param rules each "PATTERN RATE BURST", where {@code *} in the pattern stands for anything
     * @throws IllegalArgumentException that names the rule that is wrong
     */
    public TopicDefaults(List<String> rules) {
        for (String rule : rules) {
            String[] parts = rule.trim().split("\\s+");
            try {
                if (parts.length != 3) {
                    throw new IllegalArgumentException("it has " + parts.length + " words instead of three");
                }
                String names = Pattern.quote(parts[0]).replace("*", "\\E.*\\Q");
                this.rules.add(new Rule(
                        Pattern.compile(names), Limit.of(Double.parseDouble(parts[1]), Double.parseDouble(parts[2]))));
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException("default limit '" + rule
                        + "' is not PATTERN RATE BURST, such as 'sensor.* 100 20': " + e.getMessage());
            }
        }
    }

    /** Empty if topics of this name do not come to be by being used. */
    public Optional<LimitSettings> limitOf(TopicName topic) {
        return rules.stream()
                .filter(rule -> rule.names.matcher(topic.value()).matches())
                .findFirst()
                .map(rule -> new LimitSettings(rule.limit.rateMicros(), rule.limit.burstMicros(), 0, Sharing.DEFAULT));
    }
}
