package io.weir.supervisor.node;

import io.weir.config.WeirSettings;
import io.weir.supervisor.store.BrokerRegistry;
import io.weir.supervisor.store.BrokerRegistry.RegisteredBroker;
import io.weir.supervisor.store.StoreException;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether this broker may found a cluster. Brokers find each other by asking around. Two that hardly reach each other
 * (slow, half cut off) could each believe to be the first, and found two clusters that never merge. So the founder
 * claims the founding in the store by compare-and-set:
 *
 * <pre>
 * no claim yet, or one of this broker's own earlier lives    ► claim
 * the claimant's life has ended (stopped, or a later one)    ► claim
 * anything else                                              ► go on asking around: that broker's cluster will show;
 *                                                              after the founding patience without it, claim
 * </pre>
 *
 * This is a question of one cluster or two, not of safety: whatever a cluster decides about supply is a compare-and-set
 * of its own.
 */
final class Founding {
    private static final Logger LOG = LoggerFactory.getLogger(Founding.class);

    private final BrokerRegistry registry;
    private final WeirSettings settings;
    private final long incarnation;
    private Optional<BrokerRegistry.Founding> waitingFor = Optional.empty();
    private long waitingSinceNs;

    Founding(BrokerRegistry registry, WeirSettings settings, long incarnation) {
        this.registry = registry;
        this.settings = settings;
        this.incarnation = incarnation;
    }

    /**
     * Called again and again while a majority of brokers finds no cluster and this one is the first of them. Blocks on
     * the store.
     */
    synchronized boolean mayFound(long nowNs) {
        String cluster = settings.cluster().name();
        try {
            Optional<BrokerRegistry.Founding> last = registry.founding(cluster);
            if (last.isPresent() && !ended(last.get()) && !waitedLongEnough(last.get(), nowNs)) {
                return false;
            }
            boolean claimed =
                    registry.claimFounding(cluster, last, settings.broker().id(), incarnation);
            if (claimed) {
                LOG.info("{} founds the cluster {}", settings.broker().id(), cluster);
            }
            return claimed;
        } catch (StoreException e) {
            LOG.debug(
                    "{} can't claim to found the cluster: {}", settings.broker().id(), e.getMessage());
            return false;
        }
    }

    private boolean ended(BrokerRegistry.Founding last) {
        if (last.broker().equals(settings.broker().id())) {
            return true;
        }
        for (RegisteredBroker broker : registry.brokers()) {
            if (broker.id().equals(last.broker())) {
                return !broker.running() || broker.incarnation() > last.incarnation();
            }
        }
        return true;
    }

    private boolean waitedLongEnough(BrokerRegistry.Founding last, long nowNs) {
        if (!waitingFor.equals(Optional.of(last))) {
            waitingFor = Optional.of(last);
            waitingSinceNs = nowNs;
        }
        return nowNs - waitingSinceNs >= settings.cluster().foundingPatience().toNanos();
    }
}
