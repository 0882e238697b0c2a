package io.weir.supervisor.node;

import io.weir.topics.path.PathStats;
import io.weir.topics.path.TopicLook;
import java.util.List;

/** What a broker's message path holds, by topic and in all. */
public record PathView(List<TopicLook> topics, PathStats totals) {}
