package io.weir.cluster.stage;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.nio.ByteBuffer;

/**
 * The calls of the kernel that Java does not offer, and their numbers, which are the same on every 64-bit Linux that
 * Java runs on.
 */
final class Linux {
    static final int MSG_DONTWAIT = 0x40;
    static final int EINTR = 4;
    static final short POLLIN = 1;
    static final int POLLFD_BYTES = 8;
    static final int POLLFD_EVENTS_AT = 4;
    static final int POLLFD_REVENTS_AT = 6;

    private static final int O_RDONLY_CLOEXEC = 0x80000;
    private static final int CLONE_NEWNET = 0x40000000;
    private static final int AF_INET = 2;
    private static final int SOCK_DGRAM = 2;
    private static final int SOCK_RAW_CLOEXEC = 3 | 0x80000;
    private static final int AF_PACKET = 17;
    private static final short ETH_P_ALL_BIG_ENDIAN = 0x0300;
    private static final int SOCKADDR_LL_BYTES = 20;
    private static final int SOL_SOCKET = 1;
    private static final int SO_RCVBUF = 8;
    private static final int SO_RCVBUFFORCE = 33;
    private static final int SOL_PACKET = 263;
    private static final int PACKET_QDISC_BYPASS = 20;
    private static final int PACKET_IGNORE_OUTGOING = 23;
    private static final int RECEIVE_BYTES = 8 * 1024 * 1024;
    private static final long SIOCETHTOOL = 0x8946;
    private static final int IFREQ_BYTES = 40;
    private static final int IFREQ_NAME_BYTES = 16;
    private static final int ETHTOOL_STXCSUM = 0x17;
    private static final int ETHTOOL_STSO = 0x1f;
    private static final int ETHTOOL_SGSO = 0x24;
    private static final int ETHTOOL_GTXCSUM = 0x16;

    static {
        Native.register(Linux.class, "c");
    }

    private Linux() {}

    private static native int open(String path, int flags) throws LastErrorException;

    private static native int close(int fd) throws LastErrorException;

    private static native int setns(int fd, int type) throws LastErrorException;

    private static native int socket(int domain, int type, int protocol) throws LastErrorException;

    private static native int bind(int fd, Pointer address, int length) throws LastErrorException;

    private static native int setsockopt(int fd, int level, int name, Pointer value, int length);

    private static native int if_nametoindex(String name) throws LastErrorException;

    private static native int ioctl(int fd, long request, Pointer argument) throws LastErrorException;

    /** -1 and {@link Native#getLastError} if it failed. */
    static native int poll(Pointer fds, long count, int timeoutMs);

    /** -1 if nothing is there. */
    static native long recv(int fd, ByteBuffer into, long length, int flags);

    /** -1 if it was dropped. */
    static native long send(int fd, ByteBuffer frame, long length, int flags);

    static native int kill(int pid, int signal) throws LastErrorException;

    /** Moves the calling thread into a network; it can't go back. */
    static void enterNetwork(String path) {
        int fd = open(path, O_RDONLY_CLOEXEC);
        try {
            setns(fd, CLONE_NEWNET);
        } finally {
            close(fd);
        }
    }

    /**
     * A socket that gets every frame that comes out of the cable's end, and sends frames into it; in the network of the
     * calling thread.
     */
    static int frameSocket(String cable) {
        int fd = socket(AF_PACKET, SOCK_RAW_CLOEXEC, 0);
        try (Memory one = new Memory(Integer.BYTES);
                Memory address = new Memory(SOCKADDR_LL_BYTES)) {
            one.setInt(0, RECEIVE_BYTES);
            if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, one, Integer.BYTES) != 0) {
                setsockopt(fd, SOL_SOCKET, SO_RCVBUF, one, Integer.BYTES);
            }
            one.setInt(0, 1);
            // What we send ourselves, we do not want to hear.
            if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, one, Integer.BYTES) != 0) {
                throw new IllegalStateException("this kernel is too old for the switch: it needs Linux 4.20");
            }
            setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, one, Integer.BYTES);
            address.clear();
            address.setShort(0, (short) AF_PACKET);
            address.setShort(2, ETH_P_ALL_BIG_ENDIAN);
            address.setInt(4, if_nametoindex(cable));
            bind(fd, address, SOCKADDR_LL_BYTES);
        }
        return fd;
    }

    /**
     * Makes the host compute its checksums and cut its segments itself: by default it leaves both to the hardware, of
     * which a cable has none, and a switch in between would see frames of 64 KB with wrong checksums. In the network of
     * the calling thread.
     */
    static void withoutOffload(String device) {
        int fd = socket(AF_INET, SOCK_DGRAM, 0);
        try (Memory request = new Memory(IFREQ_BYTES);
                Memory value = new Memory(2L * Integer.BYTES)) {
            for (int what : new int[] {ETHTOOL_SGSO, ETHTOOL_STSO, ETHTOOL_STXCSUM}) {
                ethtool(fd, device, request, value, what);
            }
            ethtool(fd, device, request, value, ETHTOOL_GTXCSUM);
            if (value.getInt(Integer.BYTES) != 0) {
                throw new IllegalStateException("the checksums of " + device + " can't be made complete");
            }
        } finally {
            close(fd);
        }
    }

    private static void ethtool(int fd, String device, Memory request, Memory value, int what) {
        request.clear();
        request.setString(0, device, "US-ASCII");
        request.setPointer(IFREQ_NAME_BYTES, value);
        value.setInt(0, what);
        value.setInt(Integer.BYTES, 0);
        ioctl(fd, SIOCETHTOOL, request);
    }
}
