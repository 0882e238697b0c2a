package io.weir.transport.gateway;

/** The commands of NSQ V2 that a client may give. */
enum Verb {
    IDENTIFY(true, false),
    SUB(true, false),
    PUB(true, true),
    MPUB(true, true),
    DPUB(true, true),
    RDY(false, false),
    FIN(false, false),
    REQ(false, false),
    TOUCH(false, false),
    CLS(true, false),
    NOP(false, false),
    AUTH(true, false);

    /** Whether it is answered when all is well. Answers come in the order of their commands. */
    final boolean answered;

    final boolean publishes;

    Verb(boolean answered, boolean publishes) {
        this.answered = answered;
        this.publishes = publishes;
    }
}
