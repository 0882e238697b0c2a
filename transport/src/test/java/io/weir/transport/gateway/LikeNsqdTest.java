package io.weir.transport.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.transport.wire.TestCertificate;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Details in which clients that know nsqd rely on it. */
@Timeout(60)
class LikeNsqdTest {
    private final RecordingPort port = new RecordingPort();
    private GatewayLoop loop;

    private void start(ClientTerms terms) throws IOException {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        loop = new GatewayLoop(any, GatewaySettings.defaults(), terms, BrokerDirectory.ALONE, System::nanoTime);
        loop.start(port);
    }

    @AfterEach
    void stop() {
        loop.close();
    }

    @ParameterizedTest
    @CsvSource({"FIN, ''", "REQ, ' 0'", "TOUCH, ''"})
    void shouldGoOnAfterAMessageIdThatNoBrokerGives(String verb, String rest) throws IOException {
        start(ClientTerms.defaults());
        try (Client client = Client.greeted(loop)) {
            assertThat(client.send("SUB t c\n").answer()).isEqualTo("OK");
            for (String id : new String[] {"not-a-hex-number", "0123456789ABCDEF"}) {
                assertThat(client.send(verb + " " + id + rest + "\n").answer())
                        .isEqualTo("E_" + verb + "_FAILED " + verb + " " + id + " failed ID not in flight");
            }
            assertThat(client.send(Client.command("PUB t", "x")).answer()).isEqualTo("OK");
            assertThat(client.send(verb + " short" + rest + "\n").answer())
                    .isEqualTo("E_INVALID " + verb + " invalid message ID");
            assertThat(client.ended()).isTrue();
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            SUB a*b c           | E_BAD_TOPIC SUB topic name "a*b" is not valid
            SUB a b*c           | E_BAD_CHANNEL SUB channel name "b*c" is not valid
            SUB a"\\u0001 b      | E_BAD_TOPIC SUB topic name "a\\"\\x01" is not valid
            RDY many            | E_INVALID RDY could not parse count many
            """)
    void shouldNameWhatIsNotValid(String command, String error) throws IOException {
        start(ClientTerms.defaults());
        try (Client client = Client.greeted(loop)) {
            assertThat(client.send(command.replace("\\u0001", "\u0001") + "\n").answer())
                    .isEqualTo(error);
            assertThat(client.ended()).isTrue();
        }
    }

    @ParameterizedTest
    @CsvSource({"PUB", "MPUB", "DPUB"})
    void shouldNameATopicThatCannotBePublishedTo(String verb) throws IOException {
        start(ClientTerms.defaults());
        String longName = "n".repeat(100);
        for (String name : new String[] {"a*b", longName}) {
            try (Client client = Client.greeted(loop)) {
                String shown = name.equals(longName) ? "n".repeat(64) + "..." : name;
                assertThat(client.send(Client.command(verb + " " + name + (verb.equals("DPUB") ? " 0" : ""), "x"))
                                .answer())
                        .isEqualTo("E_BAD_TOPIC " + verb + " topic name \"" + shown + "\" is not valid");
            }
        }
    }

    @Test
    void shouldTakeASecondIdentifyBeforeSubAndNoneAfter() throws IOException {
        start(ClientTerms.defaults());
        try (Client client = Client.greeted(loop)) {
            assertThat(client.identify("{\"client_id\":\"first\"}")).isEqualTo("OK");
            assertThat(client.identify("{\"client_id\":\"second\",\"feature_negotiation\":true,\"snappy\":true}"))
                    .contains("\"snappy\":true");
            assertThat(client.snappy().answer()).isEqualTo("OK");
            assertThat(client.identify("{\"client_id\":\"third\"}")).isEqualTo("OK");
            assertThat(client.send(Client.command("PUB t", "x")).answer()).isEqualTo("OK");
            assertThat(client.send("SUB t c\n").answer()).isEqualTo("OK");
            assertThat(client.identify("{}")).isEqualTo("E_INVALID cannot IDENTIFY in current state");
            assertThat(client.ended()).isTrue();
        }
    }

    @Test
    void shouldRefuseASecondLayerOverTheFirst() throws IOException {
        start(ClientTerms.defaults());
        String compressing = "{\"feature_negotiation\":true,\"snappy\":true}";
        try (Client client = Client.greeted(loop)) {
            client.identify(compressing);
            assertThat(client.snappy().answer()).isEqualTo("OK");
            assertThat(client.identify(compressing)).startsWith("E_IDENTIFY_FAILED");
            assertThat(client.ended()).isTrue();
        }
    }

    /** Else whoever speaks an old version only sees a connection that ended, and has to guess why. */
    @Test
    void shouldTellAClientOfAnOldTlsVersionByAnAlert(@TempDir Path dir) throws Exception {
        TestCertificate broker = new TestCertificate(dir, "broker", "-keyalg", "EC", "-groupname", "secp256r1");
        start(new ClientTerms(
                Optional.of(TlsOffer.read(broker.certificate, broker.key, Optional.empty())),
                false,
                true,
                true,
                6,
                AccessRights.OPEN));
        try (Socket socket =
                new Socket(loop.address().getAddress(), loop.address().getPort())) {
            socket.setSoTimeout(30_000);
            DataInputStream in = new DataInputStream(socket.getInputStream());
            socket.getOutputStream().write("  V2".getBytes(StandardCharsets.US_ASCII));
            socket.getOutputStream()
                    .write(Client.command("IDENTIFY", "{\"feature_negotiation\":true,\"tls_v1\":true}"));
            in.readNBytes(in.readInt());
            socket.getOutputStream().write(helloOfTls11());
            assertThat(in.readUnsignedByte()).as("the type of an alert").isEqualTo(21);
            in.readNBytes(2);
            assertThat(in.readUnsignedShort()).isEqualTo(2);
            assertThat(in.readUnsignedByte()).as("fatal").isEqualTo(2);
            assertThat(in.readUnsignedByte()).as("protocol_version").isEqualTo(70);
            assertThat(in.read()).isNegative();
        }
    }

    /** A record of one ClientHello: version, 32 bytes of chance, no session, one suite, no compression. */
    private static byte[] helloOfTls11() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        int body = 2 + 32 + 1 + 2 + 2 + 2;
        out.writeByte(22);
        out.writeShort(0x0301);
        out.writeShort(4 + body);
        out.writeInt(1 << 24 | body);
        out.writeShort(0x0302);
        out.write(new byte[32]);
        out.writeByte(0);
        out.writeShort(2);
        out.writeShort(0xc009);
        out.writeShort(0x0100);
        return bytes.toByteArray();
    }
}
