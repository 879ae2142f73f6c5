# SPDX-License-Identifier: MIT
"""A slow line to a real server: passes bytes on, so many a second each way. (The system has up to
some 4 MB of a connection under way, which count as sent.)

    line = Throttle(t, "127.0.0.1:5000", 200_000)     line.host leads through it
    line.passed                                        bytes so far, both ways
"""
import socket
import threading
import time

PIECE = 64 << 10


class Throttle:
    def __init__(self, t, server, rate):
        self.server, self.rate, self.passed, self.open = server, rate, 0, True
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()
        t.after(self.close)

    def close(self):
        self.open = False
        self.listener.close()

    def serve(self):
        while self.open:
            try:
                ours, _ = self.listener.accept()
            except OSError:
                return
            host, port = self.server.split(":")
            theirs = socket.create_connection((host, int(port)))
            for a, b in (ours, theirs), (theirs, ours):
                threading.Thread(target=self.pass_on, args=(a, b), daemon=True).start()

    def pass_on(self, a, b):
        try:
            while piece := a.recv(PIECE):
                b.sendall(piece)
                self.passed += len(piece)
                time.sleep(len(piece) / self.rate)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            for one in a, b:
                one.close()
