#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""firesteel as a kernel of Jupyter: jupyter_client, nbclient, nbconvert and jupyter_kernel_test drive it, as JupyterLab does."""
import contextlib
import io
import json
import os
import queue
import signal
import subprocess
import sys
import time
import unittest

from foreign import VENV, ipynb, needs_kernels, write
from tap import FIRESTEEL, PATIENCE, Skip, eventually, owned, processes, run, sh

# the clients are in the tests' environment of Python
if os.path.exists(os.path.join(VENV, "versions")) and sys.prefix != VENV:
    os.execv(os.path.join(VENV, "bin", "python"), [os.path.join(VENV, "bin", "python"), *sys.argv])
LUA = {"kernelspec": {"display_name": "Lua (firesteel)", "language": "lua", "name": "firesteel"}}
TIMEOUT = 30 * PATIENCE


def places(t):
    """A home of Jupyter's own, in which firesteel is installed."""
    needs_kernels()
    home = t.dir()
    os.environ.update(JUPYTER_DATA_DIR=os.path.join(home, "data"), JUPYTER_RUNTIME_DIR=os.path.join(home, "run"),
                      JUPYTER_CONFIG_DIR=os.path.join(home, "config"), IPYTHONDIR=os.path.join(home, "ipython"))
    install("firesteel")
    return home


def install(name, *options):
    done = sh(FIRESTEEL, "kernelspec", "install", "--name", name, *options)
    assert done.code == 0, done


def needs(program):
    """A program of Jupyter's that ipykernel does not bring along."""
    with open(os.path.join(VENV, "versions"), encoding="utf-8") as f:
        if program not in f.read():
            raise Skip(f"{program} is not in the cache, which an older tests/support/tool-jupyter has made")


class Client:
    """A kernel that jupyter_client has started, in a folder of its own."""

    def __init__(self, t, *options, cwd=None, env=None, ready=True):
        from jupyter_client.manager import KernelManager
        places(t)
        if options:
            install("firesteel", *options)
        self.cwd = cwd or t.dir()
        self.manager = KernelManager(kernel_name="firesteel")
        self.manager.start_kernel(cwd=self.cwd, env={**os.environ, **(env or {})})
        t.after(lambda: self.manager.shutdown_kernel(now=True))
        self.client = self.manager.client()
        self.client.start_channels()
        t.after(self.client.stop_channels)
        self.messages = []
        if ready:
            self.client.wait_for_ready(timeout=TIMEOUT)

    def send(self, code, metadata=None, **content):
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False,
                   "stop_on_error": True, **content}
        message = self.client.session.msg("execute_request", content, metadata=metadata)
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def take(self, seconds=TIMEOUT):
        message = self.client.get_iopub_msg(timeout=seconds)
        self.messages.append(message)
        return message

    def until(self, condition):
        """The first message on iopub, of those that have come and will come, for which it is true."""
        for message in self.messages:
            if condition(message):
                return message
        while True:
            message = self.take()
            if condition(message):
                return message

    def idle(self, of):
        self.until(lambda m: m["parent_header"].get("msg_id") == of and m["content"].get("execution_state") == "idle")

    def reply(self, of):
        while True:
            message = self.client.get_shell_msg(timeout=TIMEOUT)
            if message["parent_header"]["msg_id"] == of:
                return message["content"]

    def of(self, parent, kind=None):
        return [m for m in self.messages if m["parent_header"].get("msg_id") == parent and
                m["msg_type"] not in ("status", "execute_input") and kind in (None, m["msg_type"])]

    def run(self, code, metadata=None, **content):
        sent = self.send(code, metadata, **content)
        reply = self.reply(sent)
        self.idle(sent)
        return reply, [(m["msg_type"], m["content"]) for m in self.of(sent)]

    def text(self, parent, name="stdout"):
        return "".join(m["content"]["text"] for m in self.of(parent, "stream") if m["content"]["name"] == name)

    def ask(self, kind, **content):
        message = self.client.session.msg(kind, content)
        self.client.shell_channel.send(message)
        return self.reply(message["header"]["msg_id"])


def test_what_jupyter_kernel_test_wants(t):
    places(t)
    needs("jupyter_kernel_test")
    os.environ["VIRTUAL_ENV"] = VENV
    t.after(lambda: os.environ.pop("VIRTUAL_ENV", None))
    import jupyter_kernel_test

    class Kernel(jupyter_kernel_test.KernelTests):
        kernel_name = "firesteel"
        language_name = "lua"
        file_extension = ".lua"
        code_hello_world = "print 'hello, world'"
        code_stderr = "io.stderr:write 'here\\n'"
        completion_samples = [{"text": "tonum", "matches": {"tonumber"}}, {"text": "x = 'ä' .. string.form", "matches": {"format"}}]
        complete_code_samples = ["x = 1", "1 + 1", "for i = 1, 2 do print(i) end", "!echo $HOME", "%env A=b", ""]
        incomplete_code_samples = ["for i = 1, 2 do", "x = [[ a", "f(1,", "x ="]
        invalid_code_samples = ["x = = 1", "end"]
        code_generate_error = "error 'bad'"
        code_execute_result = [{"code": "1 + 2", "result": "3"}, {"code": "'ä'", "result": "ä"}, {"code": "return 4", "result": "4"}]
        code_display_data = [{"code": "display.html '<b>x</b>'", "mime": "text/html"},
                             {"code": "display.table { {a = 1} }", "mime": "text/html"}]
        code_history_pattern = "1 +*"
        supported_history_operations = ("tail", "range", "search")
        code_inspect_sample = "string.format"
        code_clear_output = "%%python\nfrom IPython.display import clear_output\nprint(1)\nclear_output()"

    class Welcome(jupyter_kernel_test.IopubWelcomeTests):
        kernel_name = "firesteel"
        support_iopub_welcome = True

    jupyter_kernel_test.TIMEOUT = TIMEOUT
    loader = unittest.defaultTestLoader
    said = io.StringIO()
    result = unittest.TextTestRunner(said).run(unittest.TestSuite([loader.loadTestsFromTestCase(Kernel), loader.loadTestsFromTestCase(Welcome)]))
    skipped = [reason for _, reason in result.skipped]
    assert result.wasSuccessful() and result.testsRun == 13 and skipped == ["No code page something"], said.getvalue() + str(skipped)


def test_what_cells_print_and_show(t):
    c = Client(t)
    reply, shown = c.run("print 'a'\nio.stderr:write 'b\\n'\ndisplay.markdown '*c*'\nreturn {x = 1}")
    assert reply["status"] == "ok" and reply["execution_count"] == 1 and reply["payload"] == [], reply
    assert [kind for kind, _ in shown] == ["stream", "stream", "display_data", "execute_result"], shown
    assert shown[0][1] == {"name": "stdout", "text": "a\n"} and shown[1][1] == {"name": "stderr", "text": "b\n"}, shown
    assert shown[2][1]["data"]["text/markdown"] == "*c*" and shown[3][1]["execution_count"] == 1, shown
    reply, shown = c.run("local f = io.open 'x'\nlocal function deep() error 'bad' end\ndeep()")
    assert reply["status"] == "error" and reply["ename"] == "error" and "bad" in reply["evalue"] and reply["execution_count"] == 2, reply
    assert [kind for kind, _ in shown] == ["error"] and shown[0][1]["traceback"][0].startswith("error: "), shown
    assert shown[0][1]["traceback"] == reply["traceback"], reply
    for empty in ("", "   \n", "-- a comment"):
        reply, shown = c.run(empty)
        assert reply["status"] == "ok" and not shown, (reply, shown)
    reply, shown = c.run("print(string.rep('0123456789abcde\\n', 12000))")
    assert len("".join(content["text"] for _, content in shown)) == 12000 * 16 + 1, "spooled output is whole, too"


def test_what_is_shown_is_what_an_export_has(t):
    c = Client(t)
    cells = ["display.table { {name = 'a', n = 1}, {name = 'b', n = 2} }", "display.plot { loss = {3, 2, 1} }",
             "parallel.map({ 'x', 'y' }, { name = tostring, at_once = 1 }, print)", "error 'a word'", "'the value'"]
    shown = [c.run(code)[1] for code in cells]
    folder = t.dir()
    write(folder, "x.ipynb", ipynb(*[(s, {"tags": ["raises-exception"]}) for s in cells], metadata=LUA))
    assert sh(FIRESTEEL, "run", "x.ipynb", "--report", "y.ipynb", cwd=folder).code == 0
    with open(os.path.join(folder, "y.ipynb"), encoding="utf-8") as f:
        saved = [cell["outputs"] for cell in json.load(f)["cells"]]
    for messages, outputs in zip(shown, saved):
        for (kind, content), output in zip((m for m in messages if m[0] != "stream"), (o for o in outputs if o["output_type"] != "stream")):
            assert kind == output["output_type"], (messages, outputs)
            for mime, value in output.get("data", {}).items():
                assert ("".join(value) if isinstance(value, list) else value) == content["data"][mime], (mime, value, content)
            assert set(output.get("data", {})) == set(content.get("data", {})), (output, content)
            same = [line.replace("cell 4:", "[4]:") for line in output.get("traceback", [])]  # a run counts the notebook's cells
            assert same == content.get("traceback", []), (output, content)
        text = "".join("".join(o["text"]) for o in outputs if o["output_type"] == "stream")
        assert sorted(text.split()) == sorted("".join(content["text"] for kind, content in messages if kind == "stream").split()), (messages, outputs)


def test_a_live_display_goes_on_below_its_cell(t):
    c = Client(t, "--sandbox=processes", "--allow", "cluster,destructive")
    sent = c.send("k8s.watch 'configmaps'")
    assert c.reply(sent)["status"] == "ok", c.messages
    first = c.until(lambda m: m["msg_type"] == "display_data" and m["parent_header"]["msg_id"] == sent)["content"]
    assert first["transient"]["display_id"] and "text/html" in first["data"], first
    assert c.run("k8s.create { apiVersion = 'v1', kind = 'ConfigMap', metadata = { name = 'here-it-is' } }")[0]["status"] == "ok"
    update = c.until(lambda m: m["msg_type"] == "update_display_data" and "here-it-is" in m["content"]["data"]["text/plain"])
    assert update["parent_header"]["msg_id"] == sent and update["content"]["transient"] == first["transient"], update
    assert "here-it-is" in update["content"]["data"]["text/html"], update


def answer(c, value):
    question = c.client.get_stdin_msg(timeout=TIMEOUT)
    c.client.input(value)
    return question["content"]


def test_effects_are_asked_for_through_stdin(t):
    c = Client(t, "--sandbox=processes", env={"VIRTUAL_ENV": VENV})
    make = "k8s.create {{ apiVersion = 'v1', kind = 'ConfigMap', metadata = {{ name = '{}' }} }}; print 'made'"
    sent = c.send(make.format("one"), allow_stdin=True)
    asked = answer(c, "perhaps")
    assert "ConfigMap one" in asked["prompt"] and asked["prompt"].endswith("[yes, always, no] ") and not asked["password"], asked
    assert answer(c, "Y")["prompt"] == asked["prompt"], "what is no answer is asked again"
    assert c.reply(sent)["status"] == "ok", c.messages
    sent = c.send(make.format("two"), allow_stdin=True)
    answer(c, "no")
    reply = c.reply(sent)
    assert reply["ename"] == "refused" and "you said no" in reply["evalue"], reply
    reply, _ = c.run(make.format("three"))
    assert reply["ename"] == "refused" and "allow_stdin is false" in reply["evalue"], reply
    assert "firesteel kernelspec install --name firesteel-cluster --allow cluster" in reply["evalue"], reply
    sent = c.send("%%python\nimport getpass\nprint('hello ' + input('who? ') + str(len(getpass.getpass('word? '))))", allow_stdin=True)
    assert answer(c, "Ada") == {"prompt": "who? ", "password": False}
    assert answer(c, "hidden-word") == {"prompt": "word? ", "password": True}
    assert c.reply(sent)["status"] == "ok"
    c.idle(sent)
    assert c.text(sent) == "hello Ada11\n" and "hidden-word" not in json.dumps([m["content"] for m in c.messages]), c.messages
    reply, _ = c.run("%%python\ninput('never? ')")
    assert reply["status"] == "error" and "allow_stdin is false" in reply["evalue"], reply


def test_long_work_has_a_line_that_says_in_the_end_what_was_done(t):
    c = Client(t)
    with open(os.path.join(c.cwd, "big"), "w") as f:
        f.truncate(64 << 30)  # without blocks
    sent = c.send('fs.sha256 "big"')
    first = c.until(lambda m: m["msg_type"] == "display_data" and m["parent_header"]["msg_id"] == sent)["content"]
    assert first["data"]["text/plain"].startswith("read big: hashing "), first
    c.manager.interrupt_kernel()
    assert c.reply(sent)["ename"] == "interrupted"
    last = c.until(lambda m: m["msg_type"] == "update_display_data" and " in " in m["content"]["data"]["text/plain"])["content"]
    assert last["transient"] == first["transient"] and last["data"]["text/plain"].startswith("read big: "), last
    assert len(c.of(sent, "display_data")) == 1, c.of(sent)


def test_interrupts_by_message_and_by_signal(t):
    c = Client(t)
    for interrupt in (c.manager.interrupt_kernel, lambda: os.kill(c.manager.provisioner.pid, signal.SIGINT)):
        sent = c.send("kept = 7\nprint 'started'\nfiresteel.sleep '1h'")
        c.until(lambda m, sent=sent: m["parent_header"].get("msg_id") == sent and m["msg_type"] == "stream")
        interrupt()
        reply = c.reply(sent)
        assert reply["status"] == "error" and reply["ename"] == "interrupted", reply
    assert c.run("kept")[1][0][1]["data"]["text/plain"] == "7"
    c.run("'busy'")
    sent = c.send("print 'started'\nwhile true do end")
    c.until(lambda m: m["parent_header"].get("msg_id") == sent and m["msg_type"] == "stream")
    c.manager.interrupt_kernel()
    assert c.reply(sent)["ename"] == "interrupted"


def test_while_a_cell_runs(t):
    c = Client(t)
    sent = c.send("print 'started'\nfiresteel.sleep '1h'")
    c.until(lambda m: m["parent_header"].get("msg_id") == sent and m["msg_type"] == "stream")
    assert c.ask("kernel_info_request")["implementation"] == "firesteel"
    found = c.ask("complete_request", code="tonum", cursor_pos=5)
    assert found["status"] == "ok" and found["matches"] == [] and found["cursor_end"] == 5, found
    assert c.ask("comm_info_request")["comms"] == {}
    last = [m for m in iter(lambda: quiet(c), None) if m["msg_type"] == "status"][-1]
    assert last["content"]["execution_state"] == "busy" and last["parent_header"]["msg_id"] == sent, last
    c.manager.interrupt_kernel()
    assert c.reply(sent)["ename"] == "interrupted"


def quiet(c):
    with contextlib.suppress(queue.Empty):
        return c.take(1)
    return None


def test_silent_and_expressions(t):
    c = Client(t)
    sent = c.send("x = 6; print 'unseen'; display.html 'y'", silent=True)
    reply = c.reply(sent)
    c.idle(sent)
    assert reply["status"] == "ok" and reply["execution_count"] == 0 and not c.of(sent), (reply, c.messages)
    assert not [m for m in c.messages if m["msg_type"] == "execute_input"], c.messages
    reply, shown = c.run("x = x + 1", user_expressions={"a": "x * 6", "b": "error 'no'", "c": "", "d": "nil", "e": "{1, 2}"})
    assert reply["status"] == "ok", reply
    values = reply["user_expressions"]
    assert values["a"]["data"]["text/plain"] == "42" and values["b"]["status"] == "error" and "no" in values["b"]["evalue"], values
    assert "c" not in values and values["d"]["data"]["text/plain"] == "nil" and values["e"]["status"] == "ok" and not shown, (values, shown)
    reply, _ = c.run("x", store_history=False)
    assert reply["execution_count"] == 1, reply
    assert c.run("x")[0]["execution_count"] == 2
    entries = c.ask("history_request", hist_access_type="tail", n=5, output=True, raw=True)["history"]
    assert entries == [[1, 1, ["x = x + 1", None]], [1, 2, ["x", "7"]]], entries


def test_an_error_ends_what_waits(t):
    c = Client(t)
    sent = [c.send(code, stop_on_error=stops) for code, stops in (
        ("firesteel.sleep '0.2s'; error 'one'", True), ("print 'two'", True), ("print 'three'", True))]
    assert [c.reply(s)["status"] for s in sent] == ["error", "aborted", "aborted"]
    sent = [c.send(code, stop_on_error=False) for code in ("error 'one'", "print 'two'")]
    assert [c.reply(s)["status"] for s in sent] == ["error", "ok"]


def test_a_cell_of_jupyterlab_has_its_options(t):
    c = Client(t)
    named = {"cellId": "b7d8-1", "deletedCells": [], "recordTiming": False, "trusted": True}
    reply, _ = c.run("kind: Job\nname: ${'x' .. 1}", {**named, "language": "yaml", "template": "job.yaml", "title": "The job"})
    assert reply["status"] == "ok", reply
    with open(os.path.join(c.cwd, "job.yaml"), encoding="utf-8") as f:
        assert f.read() == "kind: Job\nname: x1\n"
    attempts = "n = (n or 0) + 1\nprint(n)\nif n < 3 then error 'again' end"
    reply, shown = c.run(attempts, {**named, "retries": 2, "cellId": "b7d8-2"})
    assert reply["status"] == "ok" and "3\n" in "".join(content.get("text", "") for _, content in shown), (reply, shown)
    reply, _ = c.run("n = nil\n" + attempts, {**named, "retries": 1, "cellId": "b7d8-2"})
    assert reply["status"] == "error" and "again" in reply["evalue"], reply
    reply, _ = c.run("firesteel.sleep '1h'", {**named, "timeout": "0.3s", "cellId": "b7d8-3"})
    assert reply["ename"] == "timeout", reply
    reply, _ = c.run("1", {**named, "effects": "everything", "cellId": "b7d8-4"})
    assert reply["status"] == "error" and "everything" in reply["evalue"], reply
    assert c.run("'after'")[0]["status"] == "ok"


def test_names_of_another_language(t):
    c = Client(t, env={"VIRTUAL_ENV": VENV})
    assert c.run("%%python\nseconds_left = 3")[0]["status"] == "ok"
    code = "%%python\n# ä\nx = seconds_l"

    def found():
        return c.ask("complete_request", code=code, cursor_pos=len(code))
    eventually(lambda: found()["matches"])  # the first one in a new kernel takes long
    names = found()
    assert names["matches"] == ["seconds_left"] and code[names["cursor_start"]:names["cursor_end"]] == "seconds_l", names
    assert c.ask("complete_request", code="string.form", cursor_pos=11)["matches"] == ["format"]
    told = c.ask("inspect_request", code="%%python\nlen", cursor_pos=12, detail_level=0)
    assert told["found"] and "container" in told["data"]["text/plain"], told


def test_restart_and_shutdown(t):
    c = Client(t)
    c.run("x = 1")
    first = c.manager.provisioner.pid
    c.manager.restart_kernel()
    c.client.wait_for_ready(timeout=TIMEOUT)
    assert c.manager.provisioner.pid != first
    reply, shown = c.run("x")
    assert reply["execution_count"] == 1 and not [s for s in shown if s[0] == "execute_result"], (reply, shown)
    c.manager.restart_kernel(now=True)  # it is killed: the ports are free at once all the same
    c.client.wait_for_ready(timeout=TIMEOUT)
    assert c.run("1")[0]["status"] == "ok"
    began = time.monotonic()
    c.manager.shutdown_kernel()
    assert not c.manager.is_alive() and time.monotonic() - began < 60
    eventually(lambda: not owned())


def test_it_ends_with_whoever_started_it(t):
    places(t)
    folder = t.dir()
    program = ("import sys, time\nfrom jupyter_client.manager import start_new_kernel\n"
               "m, c = start_new_kernel(kernel_name='firesteel')\nprint(m.provisioner.pid, flush=True)\ntime.sleep(3600)")
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        pid = int(process.stdout.readline())
        process.kill()
        process.wait()
    eventually(lambda: not os.path.exists(f"/proc/{pid}") and not owned())


def test_a_killed_session_is_a_dead_kernel(t):
    c = Client(t)
    sent = c.send("print 'started'\nfiresteel.sleep '1h'")
    c.until(lambda m: m["parent_header"].get("msg_id") == sent and m["msg_type"] == "stream")
    both = [line.split(":")[0] for line in processes("firesteel-kernel") if c.cwd in line]  # its guard, too
    for pid in both:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            if f.read().rpartition(")")[2].split()[1] in both:
                os.kill(int(pid), signal.SIGKILL)
    reply = c.reply(sent)
    assert reply["status"] == "error" and reply["evalue"] == "firesteel-kernel has ended", reply
    eventually(lambda: not c.manager.is_alive())


def test_nbconvert_and_nbclient(t):
    places(t)
    needs("nbconvert")
    folder = t.dir()
    write(folder, "x.ipynb", ipynb("x = 41", "x + 1", "display.table { {a = 1} }", "error 'bad'", metadata=LUA))
    jupyter = os.path.join(VENV, "bin", "jupyter")
    path = {"PATH": os.path.join(VENV, "bin") + os.pathsep + os.environ["PATH"]}
    done = sh(jupyter, "nbconvert", "--to", "notebook", "--execute", "--allow-errors", "x.ipynb", "--output", "y.ipynb", cwd=folder, env=path)
    assert done.code == 0, done
    with open(os.path.join(folder, "y.ipynb"), encoding="utf-8") as f:
        y = json.load(f)
    assert y["cells"][1]["outputs"][0]["data"]["text/plain"] == ["42"] and y["cells"][1]["execution_count"] == 2, y
    assert "<table" in "".join(y["cells"][2]["outputs"][0]["data"]["text/html"]), y
    assert y["cells"][3]["outputs"][0]["ename"] == "error" and y["metadata"]["language_info"]["name"] == "lua", y
    done = sh(jupyter, "nbconvert", "--to", "html", "--execute", "x.ipynb", cwd=folder, env=path)
    assert done.code == 1 and "CellExecutionError" in done.err, "an error of a cell ends it"


def test_files_over_unix_sockets_and_what_is_no_connection_file(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "bad.json", {"ip": "127.0.0.1", "key": "k"})
    done = sh(FIRESTEEL, "jupyter", "-f", "bad.json", cwd=folder)
    assert done.code == 1 and "it is no connection file" in done.err, done
    done = sh(FIRESTEEL, "jupyter", "-f", "none.json", cwd=folder)
    assert done.code == 1 and "none.json" in done.err, done
    done = sh(FIRESTEEL, "jupyter", cwd=folder)
    assert done.code == 2 and "firesteel kernelspec install" in done.err, done
    from jupyter_client.manager import KernelManager
    places(t)
    manager = KernelManager(kernel_name="firesteel", transport="ipc", ip=os.path.join(folder, "k"))
    manager.start_kernel(cwd=folder)
    t.after(lambda: manager.shutdown_kernel(now=True))
    client = manager.client()
    client.start_channels()
    t.after(client.stop_channels)
    client.wait_for_ready(timeout=TIMEOUT)
    assert client.execute_interactive("1 + 1", timeout=TIMEOUT, output_hook=lambda m: None)["content"]["status"] == "ok"


def test_encrypted(t):
    places(t)
    from jupyter_client.manager import KernelManager
    manager = KernelManager(kernel_name="firesteel", transport_encryption="required")
    manager.start_kernel(cwd=t.dir())
    t.after(lambda: manager.shutdown_kernel(now=True))
    with open(manager.connection_file, encoding="utf-8") as f:
        assert json.load(f)["curve_secretkey"]
    client = manager.client()
    client.start_channels()
    t.after(client.stop_channels)
    client.wait_for_ready(timeout=TIMEOUT)
    assert client.execute_interactive("1 + 1", timeout=TIMEOUT, output_hook=lambda m: None)["content"]["status"] == "ok" and client.is_alive()
    import zmq  # without the key nobody is heard
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.linger = 0
        socket.connect(f"tcp://127.0.0.1:{manager.shell_port}")
        socket.send_multipart(client.session.serialize(client.session.msg("kernel_info_request")))
        assert not socket.poll(1000)


def test_kernelspecs(t):
    places(t)
    data = os.environ["JUPYTER_DATA_DIR"]
    done = sh(FIRESTEEL, "kernelspec", "install", "--name", "firesteel-sandbox", "--sandbox", "--allow", "cluster", "-n", "team", "--protect", "prod*")
    assert done.code == 0 and "“Lua (firesteel, sandbox)”" in done.out, done
    with open(os.path.join(data, "kernels", "firesteel-sandbox", "kernel.json"), encoding="utf-8") as f:
        spec = json.load(f)
    assert spec["argv"][1:] == ["jupyter", "-f", "{connection_file}", "--allow", "cluster", "--namespace", "team", "--protect", "prod*", "--sandbox"], spec
    assert spec["language"] == "lua" and spec["interrupt_mode"] == "message" and os.path.isabs(spec["argv"][0]), spec
    listed = sh(FIRESTEEL, "kernelspec", "list", env={"VIRTUAL_ENV": None}).out.splitlines()
    assert [line.split()[0] for line in listed] == ["firesteel", "firesteel-sandbox"] and "--sandbox" in listed[1], listed
    from jupyter_client.kernelspec import KernelSpecManager
    assert KernelSpecManager().get_kernel_spec("firesteel").display_name == "Lua (firesteel)"
    os.makedirs(os.path.join(data, "kernels", "other"))
    write(os.path.join(data, "kernels", "other"), "kernel.json", {"argv": ["xlua", "-f", "{connection_file}"], "language": "lua"})
    for words, code, said in ((("remove", "other"), 3, "jupyter kernelspec remove other"), (("install", "--name", "other"), 1, "another program's kernel"),
                              (("install", "--name", "a b"), 2, "a kernel's name has"), (("install", "--allow", "everything"), 2, "cluster, destructive"),
                              (("install", "--user", "--sys-prefix"), 2, "exclude"), (("remove", "nothing"), 1, "kernelspec list"), ((), 2, "install, list or remove")):
        done = sh(FIRESTEEL, "kernelspec", *words)
        assert done.code == code and said in done.err, (words, done)
    assert "JupyterLab runs notebooks in Lua: firesteel, firesteel-sandbox" in sh(FIRESTEEL, "doctor").out
    done = sh(FIRESTEEL, "kernelspec", "remove", "firesteel-sandbox")
    assert done.code == 0 and not os.path.exists(os.path.join(data, "kernels", "firesteel-sandbox")), done
    prefix = t.dir()
    assert sh(FIRESTEEL, "kernelspec", "install", "--prefix", prefix).code == 0
    assert os.path.exists(os.path.join(prefix, "share", "jupyter", "kernels", "firesteel", "kernel.json"))
    os.makedirs(os.path.join(prefix, "bin"))
    assert sh(FIRESTEEL, "kernelspec", "install", "--sys-prefix", "--name", "here", env={"VIRTUAL_ENV": prefix}).code == 0
    assert os.path.exists(os.path.join(prefix, "share", "jupyter", "kernels", "here", "kernel.json"))
    done = sh(FIRESTEEL, "kernelspec", "install", "--sys-prefix", env={"VIRTUAL_ENV": None, "CONDA_PREFIX": None}, cwd=t.dir())
    assert done.code == 1 and "--prefix DIR" in done.err, done


run(globals())
