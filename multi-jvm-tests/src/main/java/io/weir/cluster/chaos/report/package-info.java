/** A history as one HTML page, which needs nothing but a browser. */
package io.weir.cluster.chaos.report;
