# SPDX-License-Identifier: MIT
"""onnxruntime behind the same HTTP and JSON as firesteel-worker serve, for serve.py: Python's http.server with a thread for
each connection, and one thread that predicts.

usage: serve_onnx.py FOLDER ROWS     FOLDER: a package (firesteel-worker package); prints the port

What waits when a prediction begins, up to ROWS rows, is one batch: the same as the worker's --max-batch-size.
"""
import http.server
import json
import os
import queue
import sys
import threading

import numpy
import onnxruntime

FOLDER, ROWS = sys.argv[1], int(sys.argv[2])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1  # its idle threads would spin, and take the processors of the others
session = onnxruntime.InferenceSession(os.path.join(FOLDER, "model.onnx"), options, providers=["CPUExecutionProvider"])
waiting = queue.SimpleQueue()


def take(first):
    """The requests of one batch."""
    many, rows = [first], len(first[1])
    while rows < ROWS and not waiting.empty():
        many.append(waiting.get())
        rows += len(many[-1][1])
    return many


def predict():
    while True:
        many = take(waiting.get())
        found = session.run(None, {many[0][0]: numpy.concatenate([x for _, x, _ in many])})[0]
        at = 0
        for _, x, answer in many:
            answer.put(found[at:at + len(x)])
            at += len(x)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"][0]
        answer = queue.SimpleQueue()
        waiting.put((asked["name"], numpy.asarray(asked["data"], dtype="float32").reshape(asked["shape"]), answer))
        found = answer.get()
        text = json.dumps({"outputs": [{"name": "output", "datatype": "FP32", "shape": found.shape, "data": found.reshape(-1).tolist()}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


threading.Thread(target=predict, daemon=True).start()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("listens at", server.server_address[1], flush=True)
server.serve_forever()
