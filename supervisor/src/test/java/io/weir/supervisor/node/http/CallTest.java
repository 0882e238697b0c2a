package io.weir.supervisor.node.http;

import static org.assertj.core.api.Assertions.assertThat;

import akka.actor.typed.ActorSystem;
import akka.actor.typed.javadsl.Behaviors;
import akka.http.javadsl.Http;
import akka.http.javadsl.ServerBinding;
import akka.http.javadsl.model.HttpRequest;
import akka.http.javadsl.model.HttpResponse;
import akka.http.javadsl.model.StatusCodes;
import akka.japi.function.Function;
import com.typesafe.config.ConfigFactory;
import io.weir.supervisor.node.BrokerUnderTest;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CallTest {
    /** Akka's own is plain text. */
    @Test
    void shouldGiveTheAnswerThatWasLaidReadyWhenNoOtherComesInTime() throws Exception {
        ActorSystem<Void> system = ActorSystem.create(
                Behaviors.empty(),
                "late",
                ConfigFactory.parseString("akka.actor.provider = local, akka.http.server.request-timeout = 100ms")
                        .withFallback(ConfigFactory.defaultReference()));
        try {
            ServerBinding binding = Http.get(system)
                    .newServerAt("127.0.0.1", 0)
                    .bind((Function<HttpRequest, CompletionStage<HttpResponse>>) request -> {
                        new Call(request, Map.of(), system, new Call.Reading(1), Duration.ofSeconds(1))
                                .ifLate(Answers.error(StatusCodes.SERVICE_UNAVAILABLE, "UNAVAILABLE", "late"));
                        return new CompletableFuture<>();
                    })
                    .toCompletableFuture()
                    .join();
            java.net.http.HttpResponse<String> answer = HttpClient.newHttpClient()
                    .send(
                            java.net.http.HttpRequest.newBuilder(URI.create("http://127.0.0.1:"
                                            + binding.localAddress().getPort()))
                                    .build(),
                            java.net.http.HttpResponse.BodyHandlers.ofString());
            assertThat(answer.statusCode()).isEqualTo(503);
            assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/json");
            assertThat(BrokerUnderTest.message(answer)).isEqualTo("UNAVAILABLE");
        } finally {
            system.terminate();
            system.getWhenTerminated().toCompletableFuture().join();
        }
    }
}
