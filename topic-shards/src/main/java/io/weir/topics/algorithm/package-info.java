/** The data structures of the message path: for a single thread, told the time, and without allocation once they are warm. */
package io.weir.topics.algorithm;
