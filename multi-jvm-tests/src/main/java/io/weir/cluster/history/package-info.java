/**
 * What a cluster did, from the admissions that its brokers recorded and from what its store holds, and whether it was
 * allowed.
 */
package io.weir.cluster.history;
