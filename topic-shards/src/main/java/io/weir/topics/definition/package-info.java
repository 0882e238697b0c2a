/**
 * What a topic is: the one authority on it in the cluster, the rows from which every broker learns it, and who follows
 * them.
 */
package io.weir.topics.definition;
