/**
 * How an application's actors talk to a broker: what they tell it and what it answers. A broker's actor is found
 * through the receptionist by {@link io.weir.transport.api.BrokerCommand#KEY}.
 */
package io.weir.transport.api;
