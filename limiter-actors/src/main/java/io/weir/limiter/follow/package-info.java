/**
 * Following rows of the store as they change: {@link io.weir.limiter.follow.RowFollower}, for actors of this module and
 * of those above.
 */
package io.weir.limiter.follow;
