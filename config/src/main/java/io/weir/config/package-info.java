/** Settings: read once, from the reference, a file and the environment, into records that are valid or do not exist. */
package io.weir.config;
