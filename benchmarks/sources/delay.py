"""A proxy that holds back what it passes on: delay.py PORT HOST:PORT MILLISECONDS, half of them each way.

It makes of a server on this machine one a network away. Stop it by its process id.
"""

import collections
import socket
import sys
import threading
import time


def pump(source, target, seconds):
    """Passes on what comes from one socket to the other, each piece so much later than it came."""
    held = collections.deque()
    arrived = threading.Condition()

    def send():
        while True:
            with arrived:
                while not held:
                    arrived.wait()
                due, data = held.popleft()
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)
            except OSError:
                return

    threading.Thread(target=send, daemon=True).start()
    data = b"."
    while data:
        try:
            data = source.recv(1 << 18)
        except OSError:
            data = b""
        with arrived:
            held.append((time.monotonic() + seconds, data))
            arrived.notify()


def serve(port, host, to, ms):
    """Accepts connections, on a thread of their own each way."""
    listener = socket.create_server(("127.0.0.1", port))
    while True:
        near, _ = listener.accept()
        far = socket.create_connection((host, to))
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for pair in ((near, far), (far, near)):
            threading.Thread(target=pump, args=(*pair, ms / 2e3), daemon=True).start()


if __name__ == "__main__":
    host, to = sys.argv[2].rsplit(":", 1)
    sys.setswitchinterval(1e-4)
    serve(int(sys.argv[1]), host, int(to), float(sys.argv[3]))
