/** {@code weir chaos}: breaks a real cluster, records what happens, and says whether every promise was kept. */
package io.weir.cluster.chaos;
