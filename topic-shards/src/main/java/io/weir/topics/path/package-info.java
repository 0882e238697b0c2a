/** The way of a message on one broker, on one thread: shards, the line for tokens, channels, consumers. */
package io.weir.topics.path;
