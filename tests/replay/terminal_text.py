#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Text from titles, files, servers and cells sends no control sequence to a terminal."""
import glob
import json
import os
import pty
import re
import select
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from tap import FIRESTEEL, PATIENCE, run

EVIL = "\x1b]52;c;aGk\x07\x1b[2J\x1b]0;owned\x07\u009d0;c1\u009c\u009b2J\u202edlrow\x7f\x08"
OWN = re.compile(r"\x1b\[(0|1|2|31|32|33)m|\r\x1b\[2K")


def on_terminal(*args, input=None, cwd=None):
    """All bytes that a terminal gets, from both streams."""
    ours, theirs = pty.openpty()
    environment = dict(os.environ, TERM="xterm-256color", LC_ALL="C.UTF-8")
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen([FIRESTEEL, *args], stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd,
                               env=environment, start_new_session=True)
    os.close(theirs)
    if input:
        os.write(ours, input.encode())
    out = b""
    while select.select([ours], [], [], 60 * PATIENCE)[0]:
        try:
            more = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        out += more
    process.wait()
    os.close(ours)
    return out.decode("utf-8", "surrogateescape")


def check_clean(text):
    """Checks that there are only the program's own colours and redrawing."""
    rest = OWN.sub("", text).replace("\r\n", "\n")
    found = re.search(r"[^\n\t -~\u00a0-\uffff]|[\u202a-\u202e\u2066-\u2069]", rest)
    assert not found, (found, text)


def hostile_notebook(t):
    folder = t.dir()
    path = os.path.join(folder, f"evil{EVIL[:20]}.lua".replace("/", ""))
    lua = json.dumps(EVIL, ensure_ascii=False).replace("\\u001b", "\\27").replace("\\u0007", "\\7").replace("\\b", "\\8")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"-- %% Title {EVIL}\nprint({lua})\nio.write({lua})\n"
                f"-- %% Table\ndisplay.table({{{{name = {lua}, status = {lua}}}}})\n"
                f"-- %% Fails {EVIL}\nerror({lua})\n")
    return path


def test_a_run_and_what_is_told_of_it(t):
    path = hostile_notebook(t)
    folder = os.path.dirname(path)
    out = on_terminal("run", path)
    check_clean(out)
    assert "\x1b[1m[1/3] Title ^[]52" in out and "<U+202E>dlrow" in out, out
    for verb in (["show"], ["runs"], ["show", "--ledger"], ["export", "--to", "md"], ["export", "--to", "ipynb"],
                 ["runs", "-o", "json"], ["ls"], ["clean", "evil", "--dry-run"], ["show", EVIL], ["stop", EVIL]):
        check_clean(on_terminal(*verb, cwd=folder))
    for form in ("json", "junit"):
        check_clean(on_terminal("run", path, "-o", form))


def test_reports_hold_none(t):
    path = hostile_notebook(t)
    for name in ("r.md", "r.ipynb"):
        report = os.path.join(os.path.dirname(path), name)
        on_terminal("run", path, "--report", report)
        with open(report, encoding="utf-8") as f:
            text = f.read()
        check_clean(text)
    assert "\u202e" in "".join(json.loads(text)["cells"][0]["source"])  # the meaning stays the same


def test_errors_and_usage(t):
    folder = t.dir()
    with open(os.path.join(folder, "x.lua"), "w", encoding="utf-8") as f:
        f.write("-- %% a\nx = 1\n")
    for args in (["run", EVIL], ["run", "--" + EVIL], [EVIL], ["run", "x", "--allow", EVIL], ["new", EVIL],
                 ["run", "x.lua", "-p", EVIL], ["attach", EVIL], ["export", "--to", EVIL]):
        out = on_terminal(*args, cwd=folder)
        check_clean(out)
        assert "^[]52" in out, out
    with open(os.path.join(folder, "bad.lua"), "w", encoding="utf-8") as f:
        f.write(f"-- %% a\n%%{EVIL}\n")
    check_clean(on_terminal("run", "bad.lua", cwd=folder))


class Hostile(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"kind": "Status", "code": 401, "message": EVIL}).encode()
        self.send_response(401)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *args):
        pass


def test_what_a_server_says(t):
    server = HTTPServer(("127.0.0.1", 0), Hostile)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    t.after(server.shutdown)
    folder = t.dir()
    config = os.path.join(folder, "config")
    with open(config, "w", encoding="utf-8") as f:
        json.dump({"current-context": "c" + EVIL,
                   "contexts": [{"name": "c" + EVIL, "context": {"cluster": "c"}}],
                   "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}]}, f)
    path = os.path.join(folder, "asks.lua")
    name = json.dumps(EVIL, ensure_ascii=False).replace("\\u001b", "\\27").replace("\\u0007", "\\7").replace("\\b", "\\8")
    with open(path, "w", encoding="utf-8") as f:
        f.write('-- %% a effects="cluster"\nk8s.create{apiVersion = "v1", kind = "ConfigMap", metadata = {name = '
                + name + "}}\n")
    out = on_terminal("run", path, "--kubeconfig", config, "--allow", "cluster,destructive")
    check_clean(out)
    assert "<U+009B>2J" in out and "failed" in out, out
    assert glob.glob(folder + "/.firesteel/*.jsonl")


run(globals())
