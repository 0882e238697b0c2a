package io.weir.topics.federation;

import io.weir.topics.path.NsqSocket;
import io.weir.topics.path.NsqSocket.Frame;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A consumer that finishes whatever it gets. */
final class FinishingReader extends Thread {
    private final NsqSocket socket;
    private final List<Frame> got = Collections.synchronizedList(new ArrayList<>());

    FinishingReader(NsqSocket socket) {
        this.socket = socket;
        setDaemon(true);
    }

    @Override
    public void run() {
        try {
            while (true) {
                Frame frame = socket.frame();
                if (frame.type() == 2) {
                    socket.send("FIN " + frame.id() + "\n");
                } else {
                    socket.send("NOP\n");
                }
                got.add(frame);
            }
        } catch (IOException e) {
            interrupt(); // the test is over, or misses something
        }
    }

    int count() {
        return got.size();
    }

    List<String> bodies() {
        synchronized (got) {
            return got.stream().map(Frame::text).toList();
        }
    }

    List<Integer> attempts() {
        synchronized (got) {
            return got.stream().map(Frame::attempts).toList();
        }
    }
}
