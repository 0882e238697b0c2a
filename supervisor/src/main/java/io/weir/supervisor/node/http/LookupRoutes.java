package io.weir.supervisor.node.http;

import static akka.http.javadsl.model.HttpMethods.GET;
import static akka.http.javadsl.model.HttpMethods.POST;

import akka.http.javadsl.model.HttpResponse;
import akka.http.javadsl.model.StatusCodes;
import io.weir.config.Endpoint;
import io.weir.supervisor.node.BrokerProcess;
import io.weir.supervisor.node.BrokerTopics;
import io.weir.supervisor.node.Refusal;
import io.weir.supervisor.node.http.RouteTable.Access;
import io.weir.supervisor.node.http.RouteTable.Route;
import io.weir.supervisor.store.BrokerRegistry.RegisteredBroker;
import io.weir.topics.definition.TopicDefinition;
import io.weir.transport.gateway.GatewayLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/**
 * What clients ask an nsqlookupd: where to consume a topic. Every broker can be asked.
 *
 * <p>Each topic's producers are all brokers that are up, whether anybody has published there or not. Messages go to
 * consumers at any broker, so one connection would do; but clients connect to every producer that is named to them, and
 * then a consumer's connection to one broker goes on when another dies. It gets no message twice by that: its
 * connections are consumers of one channel, and a message goes to one of them.
 *
 * <p>Answered from what this broker last read, also while the store is away; a topic that another broker made is known
 * within a second. Ephemeral channels are not listed: they are with the broker at which they are consumed only.
 */
final class LookupRoutes {
    /**
     * A broker as nsqlookupd describes an nsqd.
     *
     * @param hostname the broker's id: the registry knows no other name of it
     */
    record Producer(
            String remoteAddress, String hostname, String broadcastAddress, int tcpPort, int httpPort, String version) {
        static Producer of(String id, Endpoint tcp, Endpoint http, Endpoint cluster) {
            // A broker that listens everywhere is reached where the other brokers reach it.
            Endpoint at = tcp.reachedAt(cluster.host());
            return new Producer(at.toString(), id, at.host(), at.port(), http.port(), GatewayLoop.VERSION);
        }

        static Producer of(RegisteredBroker broker) {
            return of(
                    broker.id().value(),
                    Endpoint.parse(broker.tcp()),
                    Endpoint.parse(broker.http()),
                    Endpoint.parse(broker.clusterAddress()));
        }
    }

    /** The same with its topics. */
    private record Node(
            String remoteAddress,
            String hostname,
            String broadcastAddress,
            int tcpPort,
            int httpPort,
            String version,
            List<Boolean> tombstones,
            List<String> topics) {
        static Node of(Producer producer, List<String> topics) {
            return new Node(
                    producer.remoteAddress,
                    producer.hostname,
                    producer.broadcastAddress,
                    producer.tcpPort,
                    producer.httpPort,
                    producer.version,
                    topics.stream().map(topic -> false).toList(),
                    topics);
        }
    }

    private final BrokerProcess broker;
    private final BrokerTopics topics;

    LookupRoutes(BrokerProcess broker, BrokerTopics topics) {
        this.broker = broker;
        this.topics = topics;
    }

    List<Route> routes() {
        return List.of(
                NsqdRoutes.route(GET, "/lookup", Access.FREE, call -> NsqdRoutes.now(lookup(call))),
                NsqdRoutes.route(
                        GET,
                        "/topics",
                        Access.FREE,
                        call -> NsqdRoutes.now(Answers.nsq(Map.of("topics", topicNames())))),
                NsqdRoutes.route(GET, "/channels", Access.FREE, call -> NsqdRoutes.now(channels(call))),
                NsqdRoutes.route(
                        GET, "/nodes", Access.FREE, call -> NsqdRoutes.now(Answers.nsq(Map.of("producers", nodes())))),
                NsqdRoutes.route(POST, "/topic/tombstone", Access.ADMIN, LookupRoutes::tombstone));
    }

    /**
     * nsqadmin goes on to delete the topic at that broker whatever is answered here, and a topic is deleted everywhere
     * or nowhere.
     */
    private static CompletionStage<HttpResponse> tombstone(Call call) {
        NsqdRoutes.topic(call, "INVALID_ARG_TOPIC");
        if (call.parameter("node").isEmpty()) {
            throw Refusal.badRequest("MISSING_ARG_NODE", "the query has no node");
        }
        throw new Refusal(
                StatusCodes.NOT_IMPLEMENTED,
                "NOT_SUPPORTED",
                "every broker serves every topic, so none can be taken out of one: stop the broker, or delete the topic");
    }

    private HttpResponse lookup(Call call) {
        String topic = NsqdRoutes.topic(call, "INVALID_ARG_TOPIC").value();
        TopicDefinition found = topics.definition(topic)
                .orElseThrow(() -> new Refusal(StatusCodes.NOT_FOUND, "TOPIC_NOT_FOUND", "there is no topic " + topic));
        return Answers.nsq(Map.of("channels", channelNames(found), "producers", producers()));
    }

    private HttpResponse channels(Call call) {
        String topic = NsqdRoutes.topic(call, "INVALID_ARG_TOPIC").value();
        return Answers.nsq(Map.of(
                "channels",
                topics.definition(topic).map(LookupRoutes::channelNames).orElse(List.of())));
    }

    private static List<String> channelNames(TopicDefinition topic) {
        return new ArrayList<>(topic.channels().keySet());
    }

    private List<String> topicNames() {
        return topics.definitions().stream().map(topic -> topic.name().value()).toList();
    }

    private List<Producer> producers() {
        return broker.brokersUp().stream().map(Producer::of).toList();
    }

    private List<Node> nodes() {
        List<String> all = topicNames();
        return producers().stream().map(producer -> Node.of(producer, all)).toList();
    }
}
