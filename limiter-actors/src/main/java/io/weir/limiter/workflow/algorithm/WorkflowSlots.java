package io.weir.limiter.workflow.algorithm;

/**
 * A shard's workflows by number, so that what is kept of each is an array. At most {@value #MOST} have a number of
 * their own; all other ids share {@link #OTHER}. So a client that invents an id a message costs one lookup each, and no
 * memory.
 */
public final class WorkflowSlots {
    public static final int MOST = 256;
    /** The number of whoever has none of its own. */
    public static final int OTHER = 0;
    /** The length of an array by workflow. */
    public static final int COUNT = MOST + 1;

    private final LongIndex index = new LongIndex(MOST);

    /** The id's number, or {@link #OTHER}. */
    public int slot(long id) {
        return index.find(id) + 1;
    }

    /** Gives the id a number of its own, if one is left; else answers {@link #OTHER}. */
    public int add(long id) {
        return index.add(id) + 1;
    }

    /** The number is free for another; the caller clears what it keeps under it. */
    public void remove(long id) {
        index.remove(id);
    }

    public int size() {
        return index.size();
    }

    static void require(int workflow) {
        if (workflow < 0 || workflow >= COUNT) {
            throw new IllegalArgumentException("workflow " + workflow + " is not between 0 and " + MOST);
        }
    }
}
