package io.weir.config;

/** Marks what travels between brokers or is stored: serialised as Jackson CBOR, never by Java serialisation. */
public interface CrossesNodes {}
