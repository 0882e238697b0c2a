package io.weir.cluster.history;

/** What a history is checked for; the names are those of the supply protocol's table. */
public enum Invariant {
    C1("the limit is hard", "in every interval of length t all brokers together admit at most b + r·t messages"),
    C2(
            "nothing made, nothing lost",
            "what was minted and not burned is held by somebody or on its way, to the micro-token"),
    C3("once only", "a transfer arrives or comes back once, an account is inherited once, a version is minted once"),
    C4("the lease", "nobody admits without a lease, or from an account that an heir has"),
    C5("each for itself", "every broker alone keeps the limit of the share that its own journal says it has"),
    C6("nothing stays behind", "60 s after the last fault all of the limit is with brokers that live"),
    C7("in order", "debited before credited, fenced before inherited, nothing after the fence"),
    C8("the limit is used", "after the faults, under enough load, at least 95% of the limit is admitted over 30 s"),
    C9(
            "messages arrive",
            "what a broker acknowledged is delivered at least once to every channel, while that broker lives");

    private final String title;
    private final String meaning;

    Invariant(String title, String meaning) {
        this.title = title;
        this.meaning = meaning;
    }

    public String title() {
        return title;
    }

    public String meaning() {
        return meaning;
    }
}
