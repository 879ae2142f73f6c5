#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cells in Python and other languages, by real kernels of Jupyter: in notebooks in Lua and in their own, with all that these show."""
import contextlib
import json
import os
import re
import signal
import stat
import subprocess
import time

from foreign import ENV, PYTHON, VENV, firesteel, ipynb, needs_kernels, python, write
from kernel import Connection, Kernel, cell
from tap import CACHE, FIRESTEEL, PATIENCE, RUNTIME, Skip, eventually, owned, run, sh

NONE = {"VIRTUAL_ENV": None, "CONDA_PREFIX": None, "JUPYTER_PATH": None, "JUPYTER_DATA_DIR": None, "HOME": "/nonexistent"}


def kernels():
    """What is left of kernels of Jupyter that this program has started."""
    return [p for p in owned() if "ipykernel" in str(p) or "firesteel-jupyter" in str(p)]


def plain(text):
    return re.sub("\x1b\\[[0-9;]*m", "", text)


def test_python_in_a_notebook_in_lua(t):
    needs_kernels()
    k = Kernel(t, python("x = 41\nprint('from', 'python')\nx + 1") + cell("print 'lua'") + python("print(x * 2)\nprint('ä', end='')"), env=ENV)
    ids = [c["id"] for c in k.execute(0, 1, 2).cells()]
    assert k.text(ids[0]) == "from python\n" and k.text(ids[1]) == "lua\n" and k.text(ids[2]) == "82\nä", k.events
    result = k.of("display", cell=ids[0])[0]
    assert result["result"] and result["data"] == {"text/plain": "42"}, result
    version = [e for e in k.of("recorded") if e["kind"] == "version"]
    assert len(version) == 1 and version[0]["name"] == "python3" and version[0]["value"].startswith("python 3."), version
    used = [e for e in k.of("state", cell=ids[0]) if e["state"] == "ok"][0]["used"]
    assert used["reads"] == [] and list(used["writes"]) == ["x"], used


def test_displays_and_what_is_cleared(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    r = k.run("from IPython.display import display, HTML, clear_output\nh = display('one', display_id=True)\nh.update('two')\n"
              "display(HTML('<b>x</b>'))", 'language="python"')
    assert [d["data"]["text/plain"] for d in r.displays] == ["'one'", "<IPython.core.display.HTML object>"], r.displays
    assert r.displays[1]["data"]["text/html"] == "<b>x</b>" and r.displays[0]["live"], r.displays
    k.wait(lambda e: e["type"] == "update" and e.get("data", {}).get("text/plain") == "'two'")
    assert k.run("h.update('three')", 'language="python"').state == "ok"
    k.wait(lambda e: e["type"] == "update" and e["id"] == r.displays[0]["id"] and e.get("data", {}).get("text/plain") == "'three'")
    r = k.run("print('gone')\nclear_output(wait=True)\nprint('new')\nclear_output()\nprint('newest')", 'language="python"')
    mine = [e for e in k.events if e.get("cell") == r.displays or e["type"] in ("stream", "cleared")][-5:]
    assert [e.get("text", e["type"]) for e in mine] == ["gone\n", "cleared", "new\n", "cleared", "newest\n"], mine


def test_an_error_is_told_as_python_tells_it(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    r = k.run("def f(n):\n    return n / 0\nf(1)", 'language="python"')
    assert r.state == "failed" and r.error["name"] == "ZeroDivisionError" and r.error["message"] == "division by zero", r
    trace = "\n".join(r.error["traceback"])
    assert "\x1b[" in trace and "return n / 0" in plain(trace) and "Traceback (most recent call last)" in plain(trace), trace
    r = k.run("if", 'language="python"')
    assert r.error["name"] == "SyntaxError", r
    r = k.run("print('on')\nraise SystemExit(3)", 'language="python"')
    assert r.out == "on\n" and r.error["name"] == "SystemExit", r
    assert k.run("print(f)", 'language="python"').out.startswith("<function f"), "its variables are as they were"


def test_a_secret_that_python_prints_is_masked(t):
    needs_kernels()
    k = Kernel(t, env={**ENV, "HIDDEN_WORD": "quite-secret-value"})
    assert k.run('token = secret "HIDDEN_WORD"').state == "ok"
    r = k.run("s = '-'.join(['quite', 'secret', 'value'])\nprint(s)\nfrom IPython.display import display, HTML\ndisplay(HTML(s), s)\n{}[s]", 'language="python"')
    assert r.state == "failed" and r.error["name"] == "KeyError" and "[secret]" in r.error["message"] and len(r.displays) == 2, r
    assert "quite-secret-value" not in json.dumps(k.events) + open(k.journal(), encoding="utf-8").read(), k.events


def test_interrupts(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    for source in ("import time\nprint('started', flush=True)\ntime.sleep(60)", "print('started', flush=True)\nwhile True: pass",
                   "print('started', flush=True)\n!sleep 60"):
        cell_id = k.insert("keep = 7\n" + source, 'language="python"')
        k.start(cell_id)
        k.wait(lambda e: e["type"] == "stream" and e["cell"] == cell_id and "started" in e.get("text", ""))
        assert k.ask(type="interrupt")["ok"]
        state = k.done(cell_id, 10)
        assert state["state"] == "cancelled" and k.of("error", cell=cell_id)[0]["name"] == "interrupted", state
    assert k.run("keep", 'language="python"').value == "7", "its variables are as they were"
    r = k.run("import time; time.sleep(60)", 'language="python" timeout="1s"')
    assert r.state == "failed" and r.error["name"] == "timeout", r


def test_a_question_is_asked_in_the_workbench(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    cell_id = k.insert("import getpass\nprint('hello', input('who? '))\nprint(getpass.getpass('pass: ') + '!')", 'language="python"')
    k.start(cell_id)
    for question, value in (("who? ", "Ada"), ("pass: ", "hidden-word")):
        ask = k.wait(lambda e: e["type"] == "ask" and e["question"] == question)
        assert ask["cell"] == cell_id and ask.get("secret", False) == (value == "hidden-word"), ask
        assert k.ask(type="answer", ask=ask["ask"], value=value)["ok"]
    k.done(cell_id)
    assert k.text(cell_id).startswith("hello Ada\n") and "hidden-word" not in json.dumps(k.events), k.events
    cell_id = k.insert("input('never? ')", 'language="python"')
    k.start(cell_id)
    k.wait(lambda e: e["type"] == "ask" and e["question"] == "never? ")
    assert k.ask(type="interrupt")["ok"]
    assert k.done(cell_id, 10)["state"] == "cancelled"
    assert k.run("1 + 1", 'language="python"').value == "2"


def test_a_kernel_that_dies_is_named_and_started_anew(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    assert k.run("x = 1", 'language="python"').state == "ok"
    r = k.run("print('before', flush=True)\nimport os, sys\nos.write(2, b'')\nos.kill(os.getpid(), 9)", 'language="python"')
    assert r.state == "failed" and "python3 has ended: it was ended by signal 9 (Killed)" in r.error["message"], r
    assert "Its variables are gone" in r.error["message"], r
    r = k.run("'x' in globals()", 'language="python"')
    assert r.value == "False" and "python3 was started anew: what cells had set in it is gone." in r.err, (r, r.err)


def test_a_kernel_that_does_not_start_says_why(t):
    needs_kernels()
    folder = t.dir()
    bad = os.path.join(folder, "jupyter", "kernels", "bad")
    os.makedirs(bad)
    write(bad, "kernel.json", {"argv": ["sh", "-c", "echo no module named it >&2; exit 3"], "display_name": "B", "language": "python"})
    k = Kernel(t, env={**ENV, "JUPYTER_PATH": os.path.join(folder, "jupyter")})
    r = k.run("1", 'language="python" kernel="bad"')
    assert r.state == "failed" and "bad did not start: it ended with exit code 3; its last words: no module named it" in r.error["message"], r
    assert k.run("1", 'language="python" kernel="python3"').value == "1"


def test_its_sockets_are_files_that_nobody_else_can_reach_and_go_with_it(t):
    needs_kernels()
    before = os.listdir(RUNTIME)
    k = Kernel(t, env=ENV)
    pid = int(k.run("import os\nos.getpid()", 'language="python"').value)
    folders = [os.path.join(RUNTIME, n) for n in os.listdir(RUNTIME) if n.startswith("jupyter-") and n not in before and not n.endswith(".owner")]
    assert len(folders) == 1 and stat.S_IMODE(os.stat(folders[0]).st_mode) == 0o700, folders
    assert stat.S_IMODE(os.stat(os.path.join(folders[0], "kernel.json")).st_mode) == 0o600
    key = json.load(open(os.path.join(folders[0], "kernel.json"), encoding="utf-8"))["key"]
    for p in owned():
        assert key not in str(p), p
    inodes = {os.readlink(f"/proc/{p}/fd/{fd}") for p in (pid,) for fd in os.listdir(f"/proc/{p}/fd")}
    tcp = [line.split() for line in open("/proc/net/tcp", encoding="utf-8").read().splitlines()[1:]]
    listening = [f[1] for f in tcp if f[3] == "0A" and f"socket:[{f[9]}]" in inodes]
    assert all(address.startswith("0100007F:") for address in listening), listening
    k.end()
    eventually(lambda: not kernels() and not os.path.exists(folders[0]))


def test_all_of_it_ends_with_a_kernel_that_is_killed(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    pid = int(k.run("import os\nos.getpid()", 'language="python"').value)
    os.kill(k.pid(), signal.SIGKILL)
    eventually(lambda: not os.path.exists(f"/proc/{pid}") and not kernels())


def test_it_is_restarted_with_the_kernel(t):
    needs_kernels()
    path = os.path.join(t.dir(), "k.sock")
    k = Kernel(t, cell("", 'language="python"'), "--socket", path, env=ENV)
    pid = int(k.run("x = 5\nimport os\nos.getpid()", 'language="python"').value)
    before = k.wait(lambda e: e["type"] == "welcome")["run"]
    k.send(type="restart", id=77)

    def anew():
        """The next kernel answers."""
        with contextlib.suppress(OSError, AssertionError):
            connection = Connection.to(path)
            connection.send(type="hello", version=1, owner=True)
            connection.wait(lambda e: e["type"] == "document", 2)
            return connection if connection.wait(lambda e: e["type"] == "welcome")["run"] != before else connection.close()
    c = eventually(anew)
    assert not os.path.exists(f"/proc/{pid}"), "the old process has gone"
    made = c.ask(type="insert", rev=1 << 40, source="'x' in globals()", marker='language="python"')
    assert c.ask(type="execute", cells=[made["cell"]])["ok"]
    assert c.wait(lambda e: e["type"] == "display" and e["cell"] == made["cell"])["data"]["text/plain"] == "False"
    c.close()


def test_bash_kernel_by_its_name(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    assert k.run("x=5; cd /", 'language="bash" kernel="bash"').state == "ok"
    r = k.run("echo $x in $PWD", 'language="bash" kernel="bash"')
    assert r.out == "5 in /\n", (r, "its state stays")
    assert k.run("echo $x-", 'language="bash"').out == "-\n", "a bash cell without a kernel is another process"


def test_names_are_the_kernel_s(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    cell_id = k.insert("", 'language="python"')
    asked = dict(type="complete", cell=cell_id, source="# ä\nvalue_o", cursor=len("# ä\nvalue_o".encode()))
    assert "no cell has started its kernel" in k.ask(**asked)["error"]["message"], "nobody waits for a kernel to start"
    assert k.run("value_one = 1\ndef value_of(x):\n    'Tells the value.'", 'language="python"').state == "ok"
    reply = k.ask(**asked)
    assert sorted(reply["matches"]) == ["value_of", "value_one"] and reply["start"] == 5 and reply["end"] == 12, reply
    assert reply["kinds"][reply["matches"].index("value_of")] == "function", reply
    reply = k.ask(type="inspect", cell=cell_id, source="value_of", cursor=8)
    assert "Tells the value." in reply["data"]["text/plain"] and "\x1b" not in reply["data"]["text/plain"], reply
    assert k.ask(type="complete", source="string.for", cursor=10)["matches"] == ["format"], "Lua's are as they were"


def test_a_missing_kernel_is_told_before_anything_runs(t):
    folder = t.dir()
    write(folder, "a.lua", "-- %%\nprint 'ran'\n" + python("1"))
    write(folder, "b.py", "# %%\nprint(1)\n")
    for name, line in (("a.lua", 3), ("b.py", 1)):
        for verb in ("run", "check"):
            done = firesteel(folder, verb, name, env=NONE)
            assert done.code == 2 and f"{name}:{line}: cell {2 if name == 'a.lua' else 1}: there is no Jupyter kernel for python" in done.out + done.err, done
            assert "pip install ipykernel" in done.out + done.err and "ran" not in done.out, done
    write(folder, "c.lua", '-- %% language="python" kernel="nope"\n-- 1\n-- %% kernel="x"\nprint(1)\n')
    done = firesteel(folder, "check", "c.lua")
    assert "needs language=" in done.out, done


def test_a_python_notebook_headless(t):
    """What JupyterLab would save: counts, streams, results, displays, errors."""
    needs_kernels()
    folder = t.dir()
    write(folder, "n.ipynb", ipynb("x = 6\nprint(x)", "x * 7", ("1 / 0", {"tags": ["raises-exception"]}),
                                   "%%writefile a.txt\nhello", "%env A=b", "!cat a.txt; echo $A", "%%bash\nread line < a.txt; echo $A-$line",
                                   "from IPython.display import JSON, display\ndisplay(JSON({'a': [1]}), 'two')\nlen?"))
    done = firesteel(folder, "run", "n.ipynb", "--report", "out.ipynb")
    assert done.code == 0 and "8 cells ok" in done.out, done
    out = json.load(open(os.path.join(folder, "out.ipynb"), encoding="utf-8"))
    code = out["cells"]
    assert [c["execution_count"] for c in code] == list(range(1, 9)), code
    stream = {"output_type": "stream", "name": "stdout"}
    assert code[0]["outputs"] == [{**stream, "text": ["6\n"]}], code[0]
    assert code[1]["outputs"] == [{"output_type": "execute_result", "data": {"text/plain": ["42"]}, "metadata": {}, "execution_count": 2}], code[1]
    error = code[2]["outputs"][0]
    assert error["ename"] == "ZeroDivisionError" and error["evalue"] == "division by zero" and len(error["traceback"]) >= 3, error
    assert code[3]["outputs"] == [{**stream, "text": ["Writing a.txt\n"]}], code[3]
    assert code[5]["outputs"] == [{**stream, "text": ["hello\n", "b\n"]}] or "".join(code[5]["outputs"][0]["text"]).split() == ["hello", "b"], code[5]
    assert code[6]["outputs"] == [{**stream, "text": ["b-hello\n"]}], code[6]
    assert code[6]["source"] == ["%%bash\n", "read line < a.txt; echo $A-$line"], code[6]
    assert code[7]["outputs"][0]["data"]["application/json"] == {"a": [1]}, code[7]
    assert "Return the number of items" in "".join(code[7]["outputs"][-1].get("text", [])), code[7]
    assert out["metadata"]["kernelspec"] == PYTHON["kernelspec"], out["metadata"]


def test_long_work_of_a_binding_is_told_and_ends_by_an_interrupt(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "n.py", "# %%\nimport firesteel\nfiresteel.image.build(tag=\"a\", add=[\"big\"], worker=False)\n")
    with open(os.path.join(folder, "big"), "w") as f:
        f.truncate(64 << 30)  # without blocks
    p = subprocess.Popen([FIRESTEEL, "run", "n.py", "-o", "json"], cwd=folder, env=dict(os.environ, **ENV, HOME=folder),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = next((e for e in map(json.loads, p.stdout) if e["type"] == "progress"), None)
    assert told and told["what"] == "build a" and told["phase"] == "hashing" and told["total"] == 64 << 30, told
    began = time.monotonic()
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=60 * PATIENCE)
    assert p.returncode == 130 and time.monotonic() - began < 2 * PATIENCE, (p.returncode, time.monotonic() - began)


def test_empty_cells_and_syntax_errors_are_as_nbclient_has_them(t):
    """An empty cell is not counted; the traceback of a SyntaxError has its message once."""
    needs_kernels()
    folder = t.dir()
    write(folder, "n.ipynb", ipynb("1", " \n", "2", ("if", {"tags": ["raises-exception"]})))
    done = firesteel(folder, "run", "n.ipynb", "--report", "out.ipynb")
    assert done.code == 0, done
    with open(os.path.join(folder, "out.ipynb"), encoding="utf-8") as f:
        cells = json.load(f)["cells"]
    assert [c["execution_count"] for c in cells] == [1, None, 2, 3], cells
    trace = plain("\n".join(cells[3]["outputs"][0]["traceback"]))
    assert trace.count("invalid syntax") == 1 and trace.lstrip().startswith("Cell In[3], line 1"), trace


def test_what_is_written_is_what_nbformat_writes(t):
    """Its lines, the order of its keys, to the byte: JupyterLab saves what it has opened without a difference."""
    needs_kernels()
    nbformat = os.path.join(CACHE, "venv", "bin", "python")
    if not os.path.exists(nbformat):
        raise Skip("the tests' venv is not installed")
    folder = t.dir()
    write(folder, "n.ipynb", ipynb("print('a\\rb\\x0cc\\u2028d\\n\\ne')", "from IPython.display import HTML, SVG, Javascript, display\n"
                                   "display(HTML('<b>\\n</b>'), {'z': 1, 'a': {'c': 1, 'b': 2}})\n"
                                   "display({'application/json': {'z': 1, 'a': 'x\\ny'}, 'image/svg+xml': '<svg>\\n</svg>', 'text/plain': 'é\\n'}, raw=True)",
                                   ("1 / 0", {"tags": ["raises-exception"]})))
    done = firesteel(folder, "run", "n.ipynb", "--report", "out.ipynb")
    assert done.code == 0, done
    again = sh(nbformat, "-c", "import nbformat, sys; nb = nbformat.read('out.ipynb', 4); nbformat.validate(nb); print(nbformat.writes(nb))",
               cwd=folder, env={"PYTHONIOENCODING": "utf-8"})
    with open(os.path.join(folder, "out.ipynb"), encoding="utf-8", newline="") as f:
        assert again.code == 0 and again.out.rstrip("\n") == f.read().rstrip("\n"), again


def test_metadata_of_displays_is_kept(t):
    needs_kernels()
    folder = t.dir()
    picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
    write(folder, "n.ipynb", ipynb(f"import base64\nfrom IPython.display import Image, JSON, display\npicture = base64.b64decode('{picture}')\n"
                                   "h = display(JSON({'a': 1}, expanded=True), display_id='j')\nImage(picture, width=300, height=20)",
                                   "display({'text/plain': 'new'}, raw=True, metadata={'mine': [1]}, display_id='j', update=True)\n"
                                   "display({'text/plain': 'x'}, raw=True, metadata={'text/plain': {'y': 2}})"))
    done = firesteel(folder, "run", "n.ipynb", "--report", "out.ipynb", "--report", "out.html")
    assert done.code == 0, done
    cells = json.load(open(os.path.join(folder, "out.ipynb"), encoding="utf-8"))["cells"]
    outputs = [o for c in cells for o in c["outputs"]]
    assert [o["metadata"] for o in outputs] == [{"mine": [1]}, {"image/png": {"width": 300, "height": 20}}, {"text/plain": {"y": 2}}], outputs
    assert sorted(outputs[1]["data"]) == ["image/png", "text/plain"], outputs[1]
    assert ' width="300" height="20">' in open(os.path.join(folder, "out.html"), encoding="utf-8").read()


def test_the_report_of_a_detached_run_grows_with_it(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "n.ipynb", ipynb("print('first')", "import os, time\nprint('second', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.05)"))

    def states():
        try:
            cells = json.load(open(os.path.join(folder, "out.ipynb"), encoding="utf-8"))["cells"]
            return [c["metadata"]["papermill"]["status"] for c in cells]
        except FileNotFoundError:
            return None
    started = firesteel(folder, "run", "n.ipynb", "out.ipynb", "--detach")
    assert started.code == 0, started
    eventually(lambda: states() == ["completed", "running"])
    write(folder, "go", "")
    assert firesteel(folder, "wait", started.out.strip()).code == 0 and states() == ["completed", "completed"], states()


LISTENS = """\
import os
def target(n):
    try: return os.readlink(f"/proc/self/fd/{n}")
    except OSError: return ""
own = {target(n) for n in os.listdir("/proc/self/fd")}
rows = [line.split() for name in ("tcp", "tcp6") for line in open("/proc/net/" + name).readlines()[1:]]
print([row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own])
"""


def test_doctor_tells_of_the_port_that_ipykernel_opens(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "n.ipynb", ipynb(LISTENS))
    done = firesteel(folder, "run", "n.ipynb")
    assert done.code == 0 and "['0100007F']" in done.out, (done, "one port, on 127.0.0.1")
    told = next(f for f in json.loads(firesteel(folder, "doctor", "-o", "json").out) if f["name"] == "jupyter")
    assert "while ipykernel runs, it has a TCP port on 127.0.0.1 (firesteel itself opens none)" in told["text"], told


def test_a_report_keeps_the_metadata_of_other_programs(t):
    needs_kernels()
    folder = t.dir()
    colab = {"provenance": [], "gpuType": "T4", "api_key": "hunter2-hunter2"}
    own = {**PYTHON, "accelerator": "GPU", "colab": colab, "widgets": {"state": {}}, "papermill": {"old": 1}}
    write(folder, "n.ipynb", ipynb(("1 + 1", {"id": "abc", "outputId": "x", "colab": {"base_uri": "https://localhost"}}), metadata=own))
    done = firesteel(folder, "run", "n.ipynb", "out.ipynb")
    out = json.load(open(os.path.join(folder, "out.ipynb"), encoding="utf-8"))
    assert done.code == 0 and out["metadata"]["accelerator"] == "GPU", (done, out["metadata"])
    assert out["metadata"]["colab"] == {**colab, "api_key": "[secret]"} and out["cells"][0]["metadata"]["colab"] == {"base_uri": "https://localhost"}, out
    assert "widgets" not in out["metadata"] and "old" not in out["metadata"]["papermill"], out["metadata"]
    os.remove(os.path.join(folder, "n.ipynb"))
    assert firesteel(folder, "export", "newest", "--to", "ipynb", "-o", "again.ipynb").code == 0


def test_parameters_without_their_cell_stand_at_the_top(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "n.ipynb", ipynb("import os\nprint([lr, name, on, layers, sizes, code, api_token])\nassert os.path.exists('go')"))
    write(folder, "p.yaml", 'layers: {a: [1, true]}\ncode: "007"\n')
    given = ("-p", "lr=1e-3", "-p", "name=a b", "-p", "on=True", "-p", "sizes=[1, 2]", "-p", "api_token=12345678", "-f", "p.yaml")
    done = firesteel(folder, "run", "n.ipynb", "out.ipynb", *given)
    said = "[0.001, 'a b', True, {'a': [1, True]}, [1, 2], '007', '[secret]']"
    assert done.code == 1 and said in done.out and 'no cell of the notebook is tagged "parameters"' in done.err, done
    cells = json.load(open(os.path.join(folder, "out.ipynb"), encoding="utf-8"))["cells"]
    assert cells[0]["metadata"]["tags"] == ["injected-parameters"] and "".join(cells[0]["source"]).startswith("# Parameters\n"), cells[0]
    write(folder, "go", "")
    done = firesteel(folder, "run", "n.ipynb", "--resume", "newest", "-p", "api_token=12345678")
    assert done.code == 0 and said in done.out, done
    assert firesteel(folder, "run", "out.ipynb", "two.ipynb", *given, "-p", "lr=2").code == 0
    cells = json.load(open(os.path.join(folder, "two.ipynb"), encoding="utf-8"))["cells"]
    assert len(cells) == 2 and "lr = 2\n" in "".join(cells[0]["source"]), (cells, "an injected cell is replaced")
    done = firesteel(folder, "run", "n.ipynb", "-p", "3x=1")
    assert done.code == 2 and '"3x" is no name of a variable in Python' in done.err, done
    done = firesteel(folder, "run", "n.ipynb", "--help-notebook")
    assert "-p NAME=VALUE gives any name a value" in done.out, done
    write(folder, "n.lua", "-- %%\nprint(1)\n")
    done = firesteel(folder, "run", "n.lua", "-p", "x=1")
    assert done.code == 2 and "the notebook has no parameters" in done.err, done


def test_parameters_are_papermill_s(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "p.py", "# %% tags=[\"parameters\"]\nn = 1  # how many\nname = 'x'\nlast = False\n\n# %%\nprint(n * 2, name, last)\n")
    done = firesteel(folder, "run", "p.py", "-p", "n=21", "-p", "name=it's", "-p", "last=true", "--report", "o.ipynb")
    assert done.code == 0 and "42 it's True" in done.out, done
    out = json.load(open(os.path.join(folder, "o.ipynb"), encoding="utf-8"))
    injected = out["cells"][1]
    assert injected["metadata"]["tags"] == ["injected-parameters"], injected
    assert "".join(injected["source"]) == "# Parameters\nn = 21\nname = \"it's\"\nlast = True", injected
    assert out["metadata"]["papermill"]["parameters"] == {"n": 21, "name": "it's", "last": True}, out["metadata"]
    done = firesteel(folder, "run", "p.py", "p2.ipynb", "-p", "n=4")
    assert done.code == 0 and '"n = 4"' in open(os.path.join(folder, "p2.ipynb"), encoding="utf-8").read(), done
    done = firesteel(folder, "run", "p.py", "p3.py")
    assert done.code == 2 and "one notebook at a time" in done.err, done
    done = firesteel(folder, "run", "p.py", "-p", "n=many")
    assert done.code == 2 and "it is a number" in done.err, done
    done = firesteel(folder, "run", "p.py", "--help-notebook")
    assert done.code == 0 and "how many" in done.out, done


def other_kernel(t):
    """A data folder with a kernelspec of another name: the same Python, with a variable that tells it."""
    folder = t.dir()
    os.makedirs(os.path.join(folder, "kernels", "mine"))
    write(folder, "kernels/mine/kernel.json", json.dumps({"argv": [os.path.join(VENV, "bin", "python"), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                                                          "display_name": "Mine", "language": "python", "env": {"WHICH": "mine"}}))
    return {"JUPYTER_PATH": folder}


def test_kernel_is_papermill_s(t):
    """--kernel NAME wins over the notebook's own; a resumed and a repeated run keep it."""
    needs_kernels()
    folder, env = t.dir(), other_kernel(t)
    write(folder, "n.ipynb", ipynb("import os\nprint(os.environ.get('WHICH', 'its own'))", "assert os.path.exists('go')"))
    done = firesteel(folder, "run", "n.ipynb", "-k", "mine", "out.ipynb", env=env)
    assert done.code == 1 and "mine\n" in done.out, done
    write(folder, "go", "")
    name = re.search(r"\(run ([\w-]+)\)", done.out).group(1)
    for words in (["n.ipynb", "--resume", name], ["--from", name, "--allow-errors"]):
        done = firesteel(folder, "run", *words, env=env)
        assert "mine\n" in done.out and "its own" not in done.out, done
    assert "its own" in firesteel(folder, "run", "n.ipynb", env=env).out
    done = firesteel(folder, "run", "n.ipynb", "--kernel", "none", env=env)
    assert done.code == 2 and "no Jupyter kernel is called none (here: mine, " in done.err, done
    write(folder, "l.lua", "print(1)\n")
    done = firesteel(folder, "run", "l.lua", "--kernel", "mine", env=env)
    assert done.code == 2 and "cells are in Lua" in done.err, done
    write(folder, "u.ipynb", ipynb("1 + 1", metadata={}))
    done = firesteel(folder, "run", "u.ipynb", "--kernel", "python3", env=env)
    assert done.code == 0, done


def test_a_report_is_saved_after_each_cell(t):
    """So a kill, of firesteel itself, too, leaves what was done."""
    needs_kernels()
    folder = t.dir()
    write(folder, "n.ipynb", ipynb("print('first')", "open('here', 'w').close()\nimport time; time.sleep(100)", "print('never')"))
    p = subprocess.Popen([FIRESTEEL, "run", "n.ipynb", "out.ipynb"], cwd=folder, env={**os.environ, **ENV}, stdout=subprocess.DEVNULL)

    def saved():
        with open(os.path.join(folder, "out.ipynb"), encoding="utf-8") as f:
            return json.load(f)

    def states():
        return [c["metadata"]["papermill"]["status"] for c in saved()["cells"]]

    eventually(lambda: os.path.exists(os.path.join(folder, "here")) and states() == ["completed", "running", "pending"])
    p.send_signal(signal.SIGKILL)
    p.wait()
    out = saved()
    assert out["cells"][0]["outputs"][0]["text"] == ["first\n"] and out["cells"][0]["execution_count"] == 1, out["cells"]
    assert out["metadata"]["firesteel"]["state"] == "running" and out["metadata"]["papermill"]["exception"] is None, out["metadata"]
    eventually(lambda: not kernels())


def test_errors_are_allowed_as_in_nbclient(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "n.py", "# %%\n1 / 0\n\n# %%\nprint('goes on')\n")
    done = firesteel(folder, "run", "n.py", "o.ipynb", "--allow-errors")
    assert done.code == 0 and "goes on" in done.out and "ZeroDivisionError" in done.out, done
    write(folder, "l.lua", "error 'x'\n-- %%\nprint 'goes on'\n")
    done = firesteel(folder, "run", "l.lua", "--allow-errors")
    assert done.code == 0 and "goes on" in done.out, done


def test_exit_codes_are_those_of_lua(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "n.py", "# %% A\nprint('a')\n\n# %% B\nprint(input('q'))\n\n# %% C\nprint('never')\n")
    done = firesteel(folder, "run", "n.py", "--report", "o.ipynb")
    assert done.code == 1 and "nobody can be asked in a headless run" in done.out and "never" not in done.out, done
    assert "----> 1 print(input('q'))" in done.out and "kernelbase" not in done.out, done
    out = json.load(open(os.path.join(folder, "o.ipynb"), encoding="utf-8"))
    assert out["metadata"]["kernelspec"]["name"] == "python3" and out["metadata"]["language_info"]["name"] == "python", out["metadata"]
    write(folder, "t.py", "# %% timeout=\"1s\"\nimport time; time.sleep(60)\n")
    assert firesteel(folder, "run", "t.py").code == 4
    write(folder, "w.ipynb", ipynb("print('x' * 70000)", "print('end')", metadata={"kernelspec": {"name": "conda-env-py", "language": "python"}}))
    done = firesteel(folder, "run", "w.ipynb")
    assert done.code == 0 and "end" in done.out, ("a kernel of another machine: one with its language will do", done)


def test_much_output_is_whole_and_in_order(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "n.py", "# %%\nfor i in range(200000): print(i)\n\n# %%\nprint('z' * 3_000_000, end='')\n")
    done = firesteel(folder, "run", "n.py", "--report", "o.ipynb")
    assert done.code == 0, done.err
    spools = [os.path.join(at, n) for at, _, names in os.walk(os.path.join(folder, ".firesteel")) for n in names if not n.endswith((".journal", ".json", ".jsonl"))]
    text = b"".join(open(p, "rb").read() for p in sorted(spools, key=os.path.getsize, reverse=True))
    assert b"".join(b"%d\n" % i for i in range(200000))[-500000:] in text and b"z" * 2_900_000 in text, [(p, os.path.getsize(p)) for p in spools]


def test_a_resumed_run_does_python_again(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "n.lua", python("x = 5\nopen('ran', 'a').write('x')") + python("import os\nassert os.path.exists('go'), 'not yet'\nprint(x)"))
    done = firesteel(folder, "run", "n.lua")
    assert done.code == 1 and "AssertionError: not yet" in done.out, done
    write(folder, "go", "")
    name = re.search(r"\(run ([\w-]+)\)", done.out).group(1)
    done = firesteel(folder, "run", "n.lua", "--resume", name)
    assert done.code == 0 and "5" in done.out, done
    assert open(os.path.join(folder, "ran"), encoding="utf-8").read() == "xx"


run(globals())
