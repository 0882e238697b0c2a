/** How much may pass: bucket, model, shares and their movement. Pure: told the time, the chance and the members. */
package io.weir.limiter.algorithm;
