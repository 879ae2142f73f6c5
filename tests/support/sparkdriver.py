# SPDX-License-Identifier: MIT
"""A driver of Spark that answers as one was recorded (tests/spark/record.py): Driver(version, "runs")."""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tap import SOURCE


def answers(version, name):
    with open(f"{SOURCE}/tests/spark/{version}/{name}.json", encoding="utf-8") as f:
        return json.load(f)


def events(version):
    return f"{SOURCE}/tests/spark/{version}/events.jsonl"


class Driver:
    def __init__(self, version="3.5", name="runs", host="127.0.0.1"):
        self.answers, self.asked, self.page = answers(version, name), [], None
        driver = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path.removeprefix("/api/v1")
                driver.asked.append(path)
                found = driver.page or (json.dumps(driver.answers[path]) if path in driver.answers else None)
                body = (found or "not found").encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer((host, 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://{host}:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def then(self, version, name):
        """From now on it answers as it was recorded then."""
        self.answers = answers(version, name)

    def stop(self):
        if self.thread.is_alive():
            self.server.shutdown()
            self.server.server_close()
            self.thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
