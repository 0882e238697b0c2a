/** What is published and who gets it: topics, their shards on each broker, and channels. */
package io.weir.topics;
