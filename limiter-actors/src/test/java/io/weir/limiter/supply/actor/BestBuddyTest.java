package io.weir.limiter.supply.actor;

import static org.assertj.core.api.Assertions.assertThat;

import akka.actor.testkit.typed.javadsl.ActorTestKit;
import akka.actor.testkit.typed.javadsl.LoggingTestKit;
import akka.actor.testkit.typed.javadsl.TestProbe;
import akka.actor.typed.ActorRef;
import io.weir.config.value.BrokerId;
import io.weir.limiter.supply.protocol.Effect;
import io.weir.limiter.supply.protocol.Input;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** With a store that the test plays, on threads of its own as a broker's store has. */
class BestBuddyTest {
    private static final Holder ME = new Holder(new BrokerId("b1"), 1);
    private static final Holder VICTIM = new Holder(new BrokerId("b2"), 4);

    private final ActorTestKit kit = ActorTestKit.create();
    private final ExecutorService storeThreads = Executors.newFixedThreadPool(2);
    private final TestProbe<SupplyCoordinator.FromBuddy> parent = kit.createTestProbe();
    private final List<String> asked = new CopyOnWriteArrayList<>();

    @AfterEach
    void end() {
        kit.shutdownTestKit();
        storeThreads.shutdownNow();
    }

    private ActorRef<BestBuddy.Command> buddy(InvocationHandler answers) {
        SupplyStore store = (SupplyStore) Proxy.newProxyInstance(
                SupplyStore.class.getClassLoader(), new Class<?>[] {SupplyStore.class}, (proxy, method, arguments) -> {
                    asked.add(method.getName());
                    return answers.invoke(proxy, method, arguments);
                });
        SupplyCoordinator.Dependencies with = new SupplyCoordinator.Dependencies(
                null,
                ME,
                null,
                () -> 0,
                store,
                storeThreads,
                null,
                System::nanoTime,
                new Random(1),
                () -> {},
                Failpoints.NONE);
        return kit.spawn(BestBuddy.create(with, new Journals(kit.system()), parent.getRef()));
    }

    private Input.Answer answer() {
        return ((SupplyCoordinator.Answered) parent.receiveMessage()).answer();
    }

    /**
     * It once logged on the store's thread, which Akka forbids: every fence that was carried out was taken for a
     * failure.
     */
    @Test
    void shouldTellThatAStepIsDoneWhenTheStoreCarriedItOut() {
        ActorRef<BestBuddy.Command> buddy =
                buddy((proxy, method, arguments) -> method.getReturnType() == boolean.class ? Boolean.TRUE : null);
        for (Effect step : List.of(
                new Effect.Fence(VICTIM, 7),
                new Effect.Claim(VICTIM, Account.LEASED, Optional.empty()),
                new Effect.MarkInherited(VICTIM, Account.LEASED))) {
            buddy.tell(new BestBuddy.CarryOut(step));
            assertThat(answer()).as("%s", step).isEqualTo(new Input.StepDone(VICTIM));
        }
        assertThat(asked).containsExactly("fence", "claim", "inherited");
    }

    @Test
    void shouldSayWhomItCouldNotFenceAndGoOn() {
        ActorRef<BestBuddy.Command> buddy = buddy((proxy, method, arguments) -> Boolean.FALSE);
        LoggingTestKit.info(ME + " could not fence " + VICTIM).expect(kit.system(), () -> {
            buddy.tell(new BestBuddy.CarryOut(new Effect.Fence(VICTIM, 7)));
            return answer();
        });
    }

    @Test
    void shouldTellThatTheOutcomeIsUnknownWhenTheStoreDoesNotAnswer() {
        ActorRef<BestBuddy.Command> buddy = buddy((proxy, method, arguments) -> {
            throw new IllegalStateException("the store is away");
        });
        for (Effect step : List.of(
                new Effect.Fence(VICTIM, 7),
                new Effect.ReadVictim(VICTIM, true),
                new Effect.Claim(VICTIM, Account.KEPT, Optional.of(ME)),
                new Effect.MarkInherited(VICTIM, Account.KEPT))) {
            buddy.tell(new BestBuddy.CarryOut(step));
            assertThat(answer()).as("%s", step).isEqualTo(new Input.StepFailed(VICTIM));
        }
    }

    @Test
    void shouldTellThatAStepFailedWhenTheVictimsRowIsGone() {
        ActorRef<BestBuddy.Command> buddy = buddy((proxy, method, arguments) -> Optional.empty());
        buddy.tell(new BestBuddy.CarryOut(new Effect.ReadVictim(VICTIM, false)));
        assertThat(answer()).isEqualTo(new Input.StepFailed(VICTIM));
    }
}
