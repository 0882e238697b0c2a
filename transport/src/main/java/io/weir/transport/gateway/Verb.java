package io.weir.transport.gateway;

/** The commands of NSQ V2 that a client may give. */
enum Verb {
    IDENTIFY(true),
    SUB(true),
    PUB(true),
    MPUB(true),
    DPUB(true),
    RDY(false),
    FIN(false),
    REQ(false),
    TOUCH(false),
    CLS(true),
    NOP(false),
    AUTH(true);

    /** Whether it is answered when all is well. Answers come in the order of their commands. */
    final boolean answered;

    Verb(boolean answered) {
        this.answered = answered;
    }
}
