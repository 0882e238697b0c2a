/**
 * The values that every module speaks of: a topic's name, a broker's id, a limit. They depend on nothing, so algorithms
 * may use them.
 */
package io.weir.config.value;
