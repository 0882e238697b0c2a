/** Clusters of real JVMs: started, killed, stopped and watched as a test or a chaos run tells. */
package io.weir.cluster;
