/**
 * The data structures of the message path: for a single thread, with the time as an argument, and without allocation
 * once they are warm.
 */
package io.weir.topics.algorithm;
