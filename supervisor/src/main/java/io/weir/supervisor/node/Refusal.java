package io.weir.supervisor.node;

import akka.http.javadsl.model.StatusCode;
import akka.http.javadsl.model.StatusCodes;

/** A request that can't be answered as its caller wishes. */
public final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final transient StatusCode status;
    private final String code;

    /**
     * @param code a word that programs understand, nsqd's own where it has one
     * @param reason for people
     */
    public Refusal(StatusCode status, String code, String reason) {
        // No stack trace: it is an answer, not a fault.
        super(reason, null, false, false);
        this.status = status;
        this.code = code;
    }

    public static Refusal badRequest(String code, String reason) {
        return new Refusal(StatusCodes.BAD_REQUEST, code, reason);
    }

    public StatusCode status() {
        return status;
    }

    public String code() {
        return code;
    }
}
