package io.weir.supervisor.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

@Timeout(300)
class CertsCommandTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @TempDir
    Path dir;

    private int certs(String... args) {
        CommandLine weir = Weir.commandLine();
        weir.setOut(new PrintWriter(out, true));
        weir.setErr(new PrintWriter(err, true));
        return weir.execute(args);
    }

    @Test
    void shouldMakeAnAuthorityIssueACertificateAndShowIt() {
        String into = dir.resolve("certs").toString();

        assertThat(certs("certs", "issue", "b1", "--dir", into)).isEqualTo(ExitCode.UNAVAILABLE);
        assertThat(err.toString()).contains("weir certs init");
        assertThat(certs("certs", "init", "--dir", into)).isZero();
        assertThat(certs("certs", "issue", "b1", "--host", "10.0.0.1", "--dir", into))
                .isZero();
        assertThat(certs("certs", "show", into + "/b1.pem")).isZero();
        assertThat(out.toString()).contains("CN=b1", "(a broker's)", "10.0.0.1", "valid");
        assertThat(certs("certs", "init", "--dir", into, "--days", "0")).isEqualTo(ExitCode.USAGE);
    }
}
