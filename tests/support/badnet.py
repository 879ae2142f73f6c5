# SPDX-License-Identifier: MIT
"""A proxy that makes the network before an API server bad: a seeded generator chooses what happens to each answer.

    net = BadNet(kubeconfig, path, seed)   path: a kubeconfig that leads through it (plain HTTP on loopback)
    net.calm = True                        from now on all goes through
    net.fates                              how often each came: a Counter
    net.answers                            each as [seconds, path, fate, status, bytes of it that were passed on]
    net.close()

    refuse   no answer: the connection is reset
    status   500, 503 or 429 instead of an answer; of a log also the 404 of a kubelet that does not know the pod
    gone     of a watch: its version is too old (410)
    cut      the connection is reset after some bytes
    end      the answer ends in order after some bytes, as an API server ends a log whose kubelet dies
    stall    a pause after some bytes, then the rest
    slow     few bytes a second for a while, then the rest
"""
import asyncio
import collections
import json
import random
import re
import ssl
import threading
import time

from bearer import bearer_of

STATUS = {404: "NotFound", 410: "Expired", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
FATES = ["refuse"] * 2 + ["status"] * 3 + ["gone"] + ["cut"] * 6 + ["end"] * 5 + ["stall"] * 4 + ["slow"] * 3 + ["pass"] * 8


class Cut(Exception):
    pass


def refusal(code):
    body = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": STATUS[code],
                       "message": "the network says so"}).encode()
    return (b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
            % (code, len(body))) + body


class BadNet:
    def __init__(self, kubeconfig, path, seed):
        with open(kubeconfig, encoding="utf-8") as f:
            text = f.read()
        server = re.search(r"https://([\d.]+):(\d+)", text)
        self.bearer = [f"{k}: {v}".encode() for k, v in bearer_of(text).items()]
        self.upstream = server[1], int(server[2])
        self.random, self.calm, self.fates = random.Random(seed), False, collections.Counter()
        self.answers, self.began = [], time.monotonic()
        self.tls = ssl.create_default_context()
        self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE
        self.serving = set()  # asyncio itself keeps no task alive
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0, limit=1 << 20))
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        port = self.server.sockets[0].getsockname()[1]
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(server[0], f"http://127.0.0.1:{port}"))

    def close(self):
        asyncio.run_coroutine_threadsafe(self.end(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)

    async def end(self):
        self.server.close()
        tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def serve(self, reader, writer):
        upstream = None
        self.serving.add(asyncio.current_task())
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = [line for line in head.split(b"\r\n") if not line.lower().startswith((b"connection:", b"accept-encoding:"))]
            path = lines[0].split()[1].decode()
            fate = "pass" if self.calm else self.random.choice(FATES)
            if "watch=1" in path and fate == "pass" and not self.calm:
                fate = "cut"  # else it would be the last one for minutes
            if "watch=1" not in path and fate == "gone":
                fate = "pass"
            self.fates[fate] += 1
            note = [round(time.monotonic() - self.began, 3), path, fate, 0, 0]
            self.answers.append(note)
            if fate == "refuse":
                raise Cut
            if fate in ("status", "gone"):
                codes = [410] if fate == "gone" else [500, 503, 429] + [404] * ("/log?" in path)
                note[3] = self.random.choice(codes)
                writer.write(refusal(note[3]))
                await writer.drain()
                return
            back, upstream = await asyncio.open_connection(*self.upstream, ssl=self.tls)
            upstream.write(b"\r\n".join([lines[0], b"Connection: close", *self.bearer] + lines[1:]))
            await upstream.drain()
            await self.answer(back, writer, fate, "watch=1" in path, note)
        except (Cut, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            if upstream:
                upstream.transport.abort()
            writer.close()
            self.serving.discard(asyncio.current_task())

    async def answer(self, back, writer, fate, soon, note):
        """Passes on an answer of the server. Where the fate strikes is its own length of bytes."""
        head = await back.readuntil(b"\r\n\r\n")
        note[3] = int(head.split()[1])
        chunked = b"transfer-encoding: chunked" in head.lower()
        writer.write(head)
        # where it strikes: mostly soon
        left = int(self.random.expovariate(1 / (40000 if soon else 4000))) if soon or self.random.random() < 0.5 else self.random.randrange(100000)
        async for data in self.body(back, head):
            while data:
                if fate in ("cut", "end", "stall", "slow") and not self.calm:
                    part, data = data[:left], data[left:]
                    left -= len(part)
                else:
                    part, data = data, b""
                if part:
                    note[4] += len(part)
                    writer.write(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
                    await writer.drain()
                if left == 0 and fate in ("cut", "end", "stall", "slow") and not self.calm:
                    if fate == "cut" or (fate == "end" and not chunked):
                        raise Cut
                    if fate == "end":
                        break
                    if fate == "slow":
                        for at in range(0, min(len(data), 400), 40):
                            part = data[at:at + 40]
                            writer.write(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
                            await writer.drain()
                            await asyncio.sleep(0.1)
                        data = data[400:]
                    else:
                        await asyncio.sleep(self.random.random() * 3)
                    fate, left = "cut" if soon else "pass", int(self.random.expovariate(1 / 40000))
            else:
                continue
            break
        if chunked:
            writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def body(self, back, head):
        length = re.search(rb"content-length: (\d+)", head.lower())
        if length:
            left = int(length[1])
            while left:
                data = await back.read(min(left, 65536))
                if not data:
                    raise Cut
                left -= len(data)
                yield data
            return
        while True:  # chunked
            size = int((await back.readuntil(b"\r\n")).split(b";")[0], 16)
            data = await back.readexactly(size)
            await back.readexactly(2)
            if not size:
                return
            yield data
