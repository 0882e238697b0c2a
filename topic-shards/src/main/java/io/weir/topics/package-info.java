/**
 * What is published at this broker and who gets it: topic shards with their gates, channels, consumers. {@link
 * io.weir.topics.MessagePath} is the way in.
 */
package io.weir.topics;
