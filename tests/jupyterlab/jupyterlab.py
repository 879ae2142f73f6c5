#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""firesteel as a kernel of JupyterLab: a real JupyterLab in Debian's chromium, which is driven by its debugging port as a person's hands would.

usage: jupyterlab.py [CASE…]

Installs JupyterLab (PyPI) into the cache of the tests; chromium has to be there (apt install chromium).
"""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
CACHE = os.environ.get("FIRESTEEL_CACHE", os.path.expanduser("~/.cache/firesteel"))
VENV, VERSION = os.path.join(CACHE, "jupyterlab"), "4.6.6"
PYTHON = os.path.join(VENV, "bin", "python")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def install():
    """JupyterLab, of one version. Its own environment has what this program needs, too: a client of WebSockets."""
    mark = os.path.join(VENV, "versions")
    with contextlib.suppress(OSError), open(mark, encoding="utf-8") as f:
        if f.read() == VERSION:
            return True
    shutil.rmtree(VENV, ignore_errors=True)
    for words in ([sys.executable, "-m", "venv", VENV], [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"jupyterlab=={VERSION}"]):
        if subprocess.run(words, check=False).returncode:
            return False
    with open(mark, "w", encoding="utf-8") as f:
        f.write(VERSION)
    return True


if __name__ == "__main__" and sys.prefix != VENV:
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__.strip())
        sys.exit(0)
    if not CHROMIUM:
        sys.exit("the suite jupyterlab needs chromium (apt install chromium)")
    if not install():
        sys.exit("the suite jupyterlab needs JupyterLab, and it could not be installed (above)")
    os.execv(PYTHON, [PYTHON, *sys.argv])

import websocket
from foreign import ipynb, write
from tap import FIRESTEEL, PATIENCE, eventually, owned, run, sh

LUA = {"kernelspec": {"display_name": "Lua (firesteel)", "language": "lua", "name": "firesteel"}, "language_info": {"name": "lua"}}
KEYS = {"Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""), "Tab": ("Tab", 9, "")}
SHIFT, CONTROL = 8, 2


class Page:
    """A page of chromium, by the protocol of its debugging port."""

    def __init__(self, t, url):
        profile = t.dir()
        self.chromium = subprocess.Popen(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--window-size=1400,1400",
             "--remote-debugging-port=0", "--remote-allow-origins=*", f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        t.after(self.close)
        file = os.path.join(profile, "DevToolsActivePort")
        eventually(lambda: os.path.exists(file) and open(file, encoding="ascii").read().count("\n"), 60)
        with open(file, encoding="ascii") as f:
            port = f.readline().strip()

        def target():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
                return next((p for p in json.load(answer) if p["type"] == "page"), None)
        self.socket = websocket.create_connection(eventually(target, 60)["webSocketDebuggerUrl"], timeout=120 * PATIENCE)
        self.number = 0
        self.send("Page.enable")
        self.send("Page.navigate", url=url)

    def close(self):
        with contextlib.suppress(Exception):
            self.send("Browser.close")
        self.socket.close()
        try:
            self.chromium.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.chromium.pid, 9)
            self.chromium.wait()

    def send(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer)
                return answer.get("result", {})

    def eval(self, script):
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (script, answer)
        return answer["result"].get("value")

    def wait(self, script, seconds=60):
        """Until it is true in the page."""
        def true():
            return self.eval(script)
        true.__doc__ = script
        try:
            return eventually(true, seconds, 0.2)
        except AssertionError as late:
            raise AssertionError(f"{late}; the page: {self.eval('document.body.innerText')[:3000]}") from late

    def key(self, name, modifiers=0):
        key, code, text = KEYS[name] if name in KEYS else (name, ord(name.upper()), name)
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key if name in KEYS else f"Key{name.upper()}", windowsVirtualKeyCode=code,
                      modifiers=modifiers, text=text if kind == "keyDown" and not modifiers & CONTROL else "")

    def type(self, text):
        self.send("Input.insertText", text=text)

    def cell(self, i):
        return f"document.querySelectorAll('.jp-Notebook .jp-CodeCell')[{i}]"

    def choose(self, i, edit=False):
        """The cell, for keys that follow: its text, or the cell as a whole."""
        part = f"{self.cell(i)}.querySelector('.cm-content')"
        self.wait(f"!!{part}")
        self.eval(f"{part}.scrollIntoView()")
        box = self.eval(f"(r => [r.x + 20, r.y + r.height / 2])({part}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)
        self.wait(f"{self.cell(i)}.classList.contains('jp-mod-selected') || {self.cell(i)}.classList.contains('jp-mod-active')")
        if not edit:
            self.key("Escape")

    def run(self, i):
        self.choose(i)
        self.key("Enter", CONTROL)

    def output(self, i):
        return self.eval(f"[...{self.cell(i)}.querySelectorAll('.jp-OutputArea-output')].map(o => o.innerText).join('\\n')")

    def shows(self, i, text, seconds=60):
        return self.wait(f"[...{self.cell(i)}.querySelectorAll('.jp-OutputArea-output')].some(o => o.innerText.includes({json.dumps(text)}))", seconds)


class Lab:
    """JupyterLab with a notebook that is open, and firesteel as its kernel."""

    def __init__(self, t, *cells, options=()):
        self.folder, home = t.dir(), t.dir()
        self.path = os.path.join(self.folder, "x.ipynb")
        write(self.folder, "x.ipynb", ipynb(*cells, metadata=LUA))
        env = {**os.environ, "HOME": home, "JUPYTER_DATA_DIR": os.path.join(home, "data"), "JUPYTER_RUNTIME_DIR": os.path.join(home, "run"),
               "JUPYTER_CONFIG_DIR": os.path.join(home, "config")}
        done = sh(FIRESTEEL, "kernelspec", "install", *options, env=env)
        assert done.code == 0, done
        self.log = open(os.path.join(home, "log"), "w+", encoding="utf-8")
        self.server = subprocess.Popen(
            [os.path.join(VENV, "bin", "jupyter"), "lab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0",
             "--IdentityProvider.token=token", f"--ServerApp.root_dir={self.folder}", "--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"],
            env=env, cwd=self.folder, stdout=self.log, stderr=self.log, start_new_session=True)
        t.after(self.close)
        file = os.path.join(home, "run", f"jpserver-{self.server.pid}.json")
        eventually(lambda: os.path.exists(file) and os.path.getsize(file) or self.server.poll() is not None, 120)
        with open(file, encoding="utf-8") as f:
            url = json.load(f)["url"]
        self.page = Page(t, f"{url}lab/tree/x.ipynb?token=token&reset")
        self.page.wait("document.querySelectorAll('.jp-Notebook .jp-CodeCell').length > 0", 180)
        self.page.wait("(document.querySelector('.jp-KernelName') || {}).innerText == 'Lua (firesteel)'", 120)
        self.page.wait("!!document.querySelector('.jp-Notebook-ExecutionIndicator[data-status=\"idle\"]')", 120)

    def close(self):
        self.server.terminate()
        try:
            self.server.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.server.pid, 9)
            self.server.wait()
        self.log.close()
        eventually(lambda: not owned(), 30)


def test_cells_run_and_are_coloured_and_saved(t):
    lab = Lab(t, "local x = 41 -- a word\nprint 'from lua'\nx + 1", "display.table { {name = 'one', n = 1} }", "display.html '<b id=bold>bold</b>'",
              "error 'of this kind'", ("kind: Job\nname: ${40 + 2}", {"language": "yaml", "template": "job.yaml", "title": "The job"}))
    page = lab.page
    page.wait(f"[...{page.cell(0)}.querySelectorAll('.cm-line span')].some(s => s.innerText == 'local' && getComputedStyle(s).color != "
              f"getComputedStyle({page.cell(0)}.querySelector('.cm-content')).color)")
    for i in range(5):
        page.run(i)
    page.shows(0, "from lua")
    page.shows(0, "42")
    page.wait(f"!!{page.cell(1)}.querySelector('.jp-RenderedHTMLCommon table')")
    page.wait(f"!!{page.cell(2)}.querySelector('#bold')")
    page.shows(3, "of this kind")
    page.wait(f"{page.cell(4)}.querySelector('.jp-InputPrompt').innerText == '[5]:'")
    with open(os.path.join(lab.folder, "job.yaml"), encoding="utf-8") as f:
        assert f.read() == "kind: Job\nname: 42\n", "JupyterLab sends a cell's options"
    page.key("s", CONTROL)
    eventually(lambda: "of this kind" in open(lab.path, encoding="utf-8").read().replace("error 'of this kind'", ""))
    done = sh(FIRESTEEL, "convert", lab.path, "--to", "md", "-o", os.path.join(lab.folder, "x.md"))
    assert done.code == 0, done
    with open(lab.path, encoding="utf-8") as f:
        saved = json.load(f)
    assert saved["cells"][0]["outputs"][1]["data"]["text/plain"] == ["42"] and saved["metadata"]["language_info"]["version"] == "5.4", saved


def test_a_live_table_goes_on_below_its_cell(t):
    lab = Lab(t, "k8s.watch 'configmaps'", "k8s.create { apiVersion = 'v1', kind = 'ConfigMap', metadata = { name = 'seen-below' } }",
              options=("--sandbox=processes", "--allow", "cluster"))
    lab.page.run(0)
    lab.page.wait(f"!!{lab.page.cell(0)}.querySelector('.jp-OutputArea-output table')")
    lab.page.run(1)
    lab.page.shows(0, "seen-below")
    assert lab.page.eval(f"{lab.page.cell(0)}.querySelectorAll('.jp-OutputArea-output').length") == 1, "it is the same display"


def test_an_effect_is_asked_for(t):
    lab = Lab(t, "k8s.create { apiVersion = 'v1', kind = 'ConfigMap', metadata = { name = 'asked-for' } }\nprint 'it is made'", options=("--sandbox=processes",))
    page = lab.page
    page.run(0)
    page.wait(f"!!{page.cell(0)}.querySelector('.jp-Stdin-input')")
    assert "ConfigMap asked-for" in page.eval(f"{page.cell(0)}.querySelector('.jp-Stdin-prompt').innerText")
    page.eval(f"{page.cell(0)}.querySelector('.jp-Stdin-input').focus()")
    page.type("yes")
    page.key("Enter")
    page.shows(0, "it is made")


def test_names_are_completed_and_explained(t):
    lab = Lab(t, "", "string.format")
    page = lab.page
    page.choose(0, edit=True)
    page.type("string.for")
    text = f"{page.cell(0)}.querySelector('.cm-content').innerText.trim()"
    page.wait(f"{text} == 'string.for'")
    page.key("Tab")
    page.wait(f"{text} == 'string.format' || !!document.querySelector('.jp-Completer-list .jp-Completer-item')")
    if page.eval(text) != "string.format":
        page.key("Enter")
        page.wait(f"{text} == 'string.format'")
    page.choose(1, edit=True)
    page.key("Tab", SHIFT)
    page.wait("(document.querySelector('.jp-Tooltip-content') || {innerText: ''}).innerText.includes('string.format')")


def test_interrupts_and_restarts(t):
    lab = Lab(t, "kept = 1\nprint 'begun'\nfiresteel.sleep '1h'", "print(kept)")
    page = lab.page
    page.run(0)
    page.shows(0, "begun")
    page.choose(0)
    page.key("i")
    page.key("i")
    page.shows(0, "interrupted")
    page.run(1)
    page.shows(1, "1")
    page.choose(1)
    page.key("0")
    page.key("0")
    page.wait("!!document.querySelector('.jp-Dialog .jp-mod-accept')")
    page.eval("document.querySelector('.jp-Dialog .jp-mod-accept').click()")
    page.wait("!!document.querySelector('.jp-Notebook-ExecutionIndicator[data-status=\"idle\"]') && !document.querySelector('.jp-Dialog')", 120)
    time.sleep(1)  # the indicator says idle before the restart begins, too
    page.run(1)
    page.shows(1, "nil")


run(globals())
