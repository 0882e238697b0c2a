package io.weir.topics.definition;

/** What happens to a message that finds no token. */
public enum LimitMode {
    /** It waits, and its publisher's answer with it, up to the topic's longest delay. */
    SHAPE,
    /** It is refused at once; the answer says when to come again. */
    POLICE,
    /** It passes, and is counted. */
    SHADOW
}
