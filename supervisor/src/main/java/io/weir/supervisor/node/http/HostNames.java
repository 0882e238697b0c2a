package io.weir.supervisor.node.http;

import io.weir.config.WeirSettings;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The names under which this broker is asked for. A web page from elsewhere can have a name of its own mean this
 * broker's address (DNS rebinding), and its visitor's browser then takes both for one site. But the browser says in the
 * Host header which name it asked for, and that is the page's: no address, not localhost, and no name of this broker's.
 */
final class HostNames {
    private static final Pattern IPV4 = Pattern.compile("\\d{1,3}(\\.\\d{1,3}){3}");

    private final List<Pattern> own;

    HostNames(WeirSettings settings) {
        this(Stream.concat(
                        settings.http().names().stream(),
                        Stream.of(
                                settings.http().address().host(),
                                settings.tcp().host(),
                                settings.cluster().address().host()))
                .toList());
    }

    /** @param names where {@code *} stands for anything */
    HostNames(List<String> names) {
        own = names.stream()
                .map(name ->
                        Pattern.compile(Stream.of(name.toLowerCase(Locale.ROOT).split("\\*", -1))
                                .map(Pattern::quote)
                                .reduce((a, b) -> a + ".*" + b)
                                .orElse("")))
                .toList();
    }

    /** @param host without its port; empty if the request named none, as HTTP/1.0 may */
    boolean include(String host) {
        String name = host.toLowerCase(Locale.ROOT);
        boolean address = IPV4.matcher(name).matches() || name.indexOf(':') >= 0 || name.startsWith("[");
        return name.isEmpty()
                || address
                || name.equals("localhost")
                || own.stream().anyMatch(each -> each.matcher(name).matches());
    }
}
