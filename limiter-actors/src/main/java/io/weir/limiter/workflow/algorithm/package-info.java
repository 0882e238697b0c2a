/**
 * Workflows: what each may send, so that no topic downstream of it is overrun (Wisp, 4.1 and 4.3). Pure: told the time,
 * the messages and what neighbours announced. The calls of each message allocate nothing; tables are bounded.
 */
package io.weir.limiter.workflow.algorithm;
