# SPDX-License-Identifier: MIT
"""The WebSockets of apifake.py, whose pods do what their names say: exec, attach and portforward (channel.k8s.io).

echo: stdin comes back until it ends | big: 4 MB in pieces, with pings between | size: the terminal's size, until it is
closed | exit-N | words: a failure that is no exit code | cut | cut-frame: in the middle of a frame | silent: ends in order,
and says nothing | closed: with a reason | garbage: no frames | v4: only the old protocol | plain: 200 | other: no protocol of
ours | e400, e403, e500: a Status | html502: a proxy's page. For portforward also: refused: nobody listens there | talker:
says something all the time, and hears nothing | slow: hears nothing for 7 s, and tells at its end how much it heard; slow-talker
talks meanwhile | counted: what the last slow one has heard.
"""
import base64
import hashlib
import json
import socket
import struct
import time

STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
BINARY, END, PING, PONG = 2, 8, 9, 10


class Channel:
    counted = 0

    def __init__(self, handler):
        self.handler, self.wfile, self.rfile = handler, handler.wfile, handler.rfile

    def frame(self, kind, data, fin=True):
        n = len(data)
        length = bytes([n]) if n < 126 else struct.pack(">BH", 126, n) if n < 65536 else struct.pack(">BQ", 127, n)
        self.wfile.write(bytes([(0x80 if fin else 0) | kind]) + length + data)
        self.wfile.flush()

    def say(self, number, data):
        self.frame(BINARY, bytes([number]) + data)

    def end(self, value):
        self.say(STATUS, json.dumps(value).encode())
        self.frame(END, struct.pack(">H", 1000))

    def hear(self):
        """The next message's kind and bytes."""
        first, second = self.rfile.read(2)
        assert first & 0x80 and second & 0x80, "a client's frames are whole here, and masked"
        n = second & 0x7f
        n = struct.unpack(">H", self.rfile.read(2))[0] if n == 126 else struct.unpack(">Q", self.rfile.read(8))[0] if n == 127 else n
        mask = self.rfile.read(4)
        data = self.rfile.read(n)
        return first & 15, bytes(b ^ mask[i % 4] for i, b in enumerate(data))

    def agree(self, protocol):
        key = self.handler.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.handler.send_response(101)
        self.handler.send_header("Upgrade", "websocket")
        self.handler.send_header("Connection", "Upgrade")
        self.handler.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.handler.send_header("Sec-WebSocket-Protocol", protocol)
        self.handler.end_headers()
        self.wfile.flush()

    def command(self, name):
        if name == "echo":
            while True:
                kind, data = self.hear()
                if kind == BINARY and data[0] == CLOSE:
                    break
                if kind == BINARY and data[0] == STDIN:
                    self.say(STDOUT, data[1:])
            self.end({"status": "Success"})
        elif name == "big":
            for i in range(128):
                self.frame(BINARY, b"\x01" + b"x" * 9999, False)
                self.frame(PING, b"%d" % i)
                self.frame(0, b"y" * (32768 - 9999))
                assert self.hear() == (PONG, b"%d" % i)
            self.say(STDERR, b"done")
            self.end({"status": "Success"})
        elif name == "size":
            sizes = json.loads(self.hear()[1][1:])
            self.say(STDOUT, f"{sizes['Height']}x{sizes['Width']}".encode())
            self.end({"status": "Success"})
        elif name.startswith("exit-"):
            self.say(STDOUT, b"out")
            self.say(STDERR, b"err")
            self.end({"status": "Failure", "reason": "NonZeroExitCode", "code": 500, "message": "command terminated",
                      "details": {"causes": [{"reason": "ExitCode", "message": name[5:]}]}})
        elif name == "words":
            self.end({"status": "Failure", "reason": "InternalError", "code": 500, "message": "no such program: nosh"})
        elif name == "cut-frame":
            self.say(STDOUT, b"some")
            self.wfile.write(b"\x82\x7e\x10\x00\x01half")
            self.handler.cut()
        elif name == "cut":
            self.say(STDOUT, b"some")
            self.handler.cut()
        elif name == "silent":
            self.frame(END, struct.pack(">H", 1000))
        elif name == "closed":
            self.frame(END, struct.pack(">H", 1011) + b"the node is gone")
        elif name == "garbage":
            self.wfile.write(b"SSH-2.0-OpenSSH\r\n")
        self.wfile.flush()

    def hear_late(self, talks):
        self.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.say(0, b"ready")
        for _ in range(70):
            time.sleep(0.1)
            if talks:
                self.say(0, b"x")
        n = 0
        while True:
            kind, data = self.hear()
            n += len(data) - 1 if kind == BINARY else 0
            Channel.counted = n
            if data.endswith(b"bye"):
                return self.say(0, b"%d" % n)

    def forward(self, name):
        for number in (0, 1):
            self.say(number, struct.pack("<H", int(self.handler.query["ports"])))
        if name == "refused":
            self.say(1, b"dial tcp4 127.0.0.1:80: connect: connection refused")
            self.frame(END, struct.pack(">H", 1000))
            return
        while name == "talker":
            self.say(0, b"x" * 1000)
            time.sleep(0.02)
        if name.startswith("slow"):
            self.hear_late(name == "slow-talker")
        elif name == "counted":
            self.say(0, b"%d" % Channel.counted)
        while not name.startswith(("slow", "counted")):
            kind, data = self.hear()
            if kind == BINARY and data[1:] == b"bye":
                break
            if kind == BINARY:
                self.say(0, data[1:].upper())
        self.frame(END, struct.pack(">H", 1000))

    def serve(self, name, verb):
        offered = self.handler.headers["Sec-WebSocket-Protocol"].split(", ")
        self.handler.close_connection = True
        self.agree("v9.other" if name == "other" else "v4.channel.k8s.io" if name == "v4" else offered[0])
        try:
            self.forward(name) if verb == "portforward" else self.command(name)
        except (ValueError, OSError):
            pass  # the client has gone
