/** {@code weir demo}: the one-minute tour. */
package io.weir.cluster.demo;
