package io.weir.supervisor.placement;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;

/** What one message of a broker's report has: a report is cut into messages of bounded size. */
record ReportPage(List<Report.OfTopic> topics, List<Report.Bursts> bursts, List<Report.Delivered> delivered) {
    /** Gives the messages to {@code sink}; at least one, because a broker that is silent counts as gone. */
    static void cut(
            Collection<Report.OfTopic> news,
            List<Report.Bursts> bursts,
            List<Report.Delivered> delivered,
            Consumer<ReportPage> sink) {
        Cutter cutter = new Cutter(sink);
        for (Report.OfTopic of : news) {
            for (int from = 0; from == 0 || from < of.ids().length; from += Report.MOST_PUBLISHERS) {
                Report.OfTopic part = part(of, from);
                cutter.room(Report.bytes(part)).topics.add(part);
            }
        }
        for (Report.Bursts of : bursts) {
            for (int from = 0; from < of.ids().length; from += Report.MOST_BURSTING) {
                Report.Bursts part = of.part(from);
                cutter.room(part.bytes()).bursts.add(part);
            }
        }
        for (Report.Delivered of : delivered) {
            cutter.room(of.bytes()).delivered.add(of);
        }
        sink.accept(cutter.page);
    }

    private static ReportPage empty() {
        return new ReportPage(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    }

    private static final class Cutter {
        private final Consumer<ReportPage> sink;
        private ReportPage page = empty();
        private int bytes;

        private Cutter(Consumer<ReportPage> sink) {
            this.sink = sink;
        }

        /** The page that has room for so many bytes more. */
        private ReportPage room(int more) {
            if (bytes > 0 && bytes + more > Report.MOST_BYTES) {
                sink.accept(page);
                page = empty();
                bytes = 0;
            }
            bytes += more;
            return page;
        }
    }

    private static Report.OfTopic part(Report.OfTopic of, int from) {
        if (from == 0 && of.ids().length <= Report.MOST_PUBLISHERS) {
            return of;
        }
        int to = Math.min(of.ids().length, from + Report.MOST_PUBLISHERS);
        return new Report.OfTopic(
                of.topic(),
                of.revision(),
                Arrays.copyOfRange(of.ids(), from, to),
                Arrays.copyOfRange(of.rates(), from, to),
                Arrays.copyOfRange(of.sizes(), from, to),
                Arrays.copyOfRange(of.registered(), from, to),
                Arrays.copyOfRange(of.groups(), from, to),
                from == 0 ? of.left() : new long[0],
                from == 0 ? of.batches() : 0,
                from == 0 ? of.delays() : new int[0]);
    }
}
