#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Secrets that a run is given: as parameters, in its environment, in its notebook, in a kubeconfig."""
import base64
import glob
import json
import os
import ssl
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from kernel import Kernel
from tap import FIRESTEEL, eventually, run, sh

PASSWORD = "c0rrect-horse-b4ttery"
TAKES_ONE = """\
-- %% Parameters tags=["parameters"]
db_password = "changeme"
max_tokens = "123456"

-- %% Use
print(#db_password, db_password, max_tokens)
"""


def notebook(t, text):
    path = os.path.join(t.dir(), "sample.lua")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def written(path):
    """The text of all files that runs of a notebook have left."""
    text = ""
    folder = os.path.dirname(path)
    for file in glob.glob(folder + "/.firesteel/**", recursive=True) + glob.glob(folder + "/report.*"):
        if os.path.isfile(file):
            with open(file, encoding="utf-8", errors="replace") as f:
                text += f.read()
    return text


def firesteel(*args, **options):
    return sh(FIRESTEEL, *args, **options)


def test_a_parameter_with_a_secret_name_is_masked(t):
    path = notebook(t, TAKES_ONE)
    for form, report in [("plain", "md"), ("json", "ipynb"), ("junit", "md")]:
        done = firesteel("run", path, "-p", "db_password=" + PASSWORD, "-o", form,
                         "--report", f"{os.path.dirname(path)}/report.{report}")
        assert done.code == 0 and PASSWORD not in done.out + done.err + written(path), done
        assert form == "junit" or (f"{len(PASSWORD)}\\t" in done.out or f"{len(PASSWORD)}\t" in done.out), done
    shown = firesteel("show", cwd=os.path.dirname(path))
    assert 'db_password = "[secret]"' in shown.out and 'max_tokens = "123456"' in shown.out, shown
    short = firesteel("run", path, "-p", "db_password=abc", "-o", "json")
    first = json.loads(short.out.splitlines()[0])
    assert first["parameters"]["db_password"] == "[secret]", first


def test_an_ipynb_has_no_secret_that_was_told_after_it_was_printed(t):
    k = Kernel(t, env={"LATE_WORD": PASSWORD})
    assert PASSWORD in k.run("print('it is ' .. os.getenv 'LATE_WORD')").out
    assert k.run('token = secret "LATE_WORD"').state == "ok"
    path = os.path.join(k.cwd, "out.ipynb")
    saved = k.ask(type="save", rev=1 << 40, path=path)
    assert saved["ok"], saved
    with open(path, encoding="utf-8") as f:
        text = f.read()
    assert "it is [secret]" in text and PASSWORD not in text, text


def test_a_parameter_comes_from_a_file_or_standard_input(t):
    path = notebook(t, TAKES_ONE)
    file = os.path.join(t.dir(), "password")
    with open(file, "w", encoding="utf-8") as f:
        f.write(PASSWORD + "\n")
    done = firesteel("run", path, "-p", "db_password@" + file)
    assert done.code == 0 and f"{len(PASSWORD)}\t[secret]" in done.out, done
    done = firesteel("run", path, "-p", "db_password@-", input=PASSWORD)
    assert done.code == 0 and f"{len(PASSWORD)}\t[secret]" in done.out, done
    done = firesteel("run", path, "-p", "max_tokens=a@b")
    assert done.code == 0 and "a@b" in done.out, done
    done = firesteel("run", path, "-p", "db_password@/none")
    assert done.code == 2 and "-p db_password" in done.err and "/none" in done.err, done


def test_the_kernels_command_line_holds_no_parameter(t):
    path = notebook(t, TAKES_ONE + '\n-- %% Wait\nfiresteel.sleep "60s"\n')
    run_name = firesteel("run", path, "--detach", "-p", "db_password=" + PASSWORD).out.strip()
    t.after(lambda: firesteel("stop", run_name))
    folder = os.path.dirname(path) + "/.firesteel/"
    eventually(lambda: '"Wait' in written(path) or "wait" in written(path))
    with open(glob.glob(folder + "*.jsonl")[0], encoding="utf-8") as f:
        pid = json.loads(f.readline())["pid"]
    for one in [pid, int(open(f"/proc/{pid}/stat", encoding="utf-8").read().rsplit(")", 1)[1].split()[1])]:
        with open(f"/proc/{one}/cmdline", "rb") as f:
            assert PASSWORD.encode() not in f.read()
    eventually(lambda: f"{len(PASSWORD)}\\t" in written(path))


def test_variables_and_assignments_with_a_secret_name(t):
    path = notebook(t, f'-- %% a\nlocal api_key = "{PASSWORD}"\nprint(api_key, os.getenv "DATABASE_URL")\n')
    report = os.path.dirname(path) + "/report.md"
    done = firesteel("run", path, "--report", report, env={"DATABASE_URL": "pg://app:hunter22hunter@db/x"})
    assert done.code == 0 and "[secret]\tpg://app:[secret]@db/x" in done.out, done
    assert PASSWORD not in written(path) and "hunter22" not in written(path)


def test_a_secret_that_looks_like_a_tag_is_hidden(t):
    token = "To\"k<en>&+0123456789"
    path = notebook(t, "-- %% a\ndisplay.html('<p>it is ' .. os.getenv 'X_TOKEN' .. '</p>')\n"
                       "display.html '<p>a&#x2013;b &#8211; c &amp; d</p><ul><li>e</li></ul><script>f</script>'\n")
    done = firesteel("run", path, env={"X_TOKEN": token})
    assert done.code == 0 and "it is [secret]" in done.out and "a–b – c & d\n" in done.out and "- e" in done.out and "f" not in done.out.split("e\n")[1].split("ok")[0], done
    assert "0123456789" not in done.out + written(path), done


def test_a_short_secret_at_a_cut_is_hidden(t):
    path = notebook(t, "-- %% a\nlocal long = ('x'):rep(115) .. os.getenv 'X_TOKEN'\ndisplay.table { { v = long } }\n"
                       "parallel.map({ ('x'):rep(35) .. os.getenv 'X_TOKEN' }, function() print 'y' end)\n")
    done = firesteel("run", path, env={"X_TOKEN": "hunter2-hunter2"})
    assert done.code == 0 and "xhunt" not in done.out + written(path), done
    assert "x[sec…" in done.out, done


def test_base64_in_lines_stays_masked(t):
    token = "".join(f"{i:03d}-token-" for i in range(90))
    path = notebook(t, "-- %% a\n!echo $X_TOKEN | base64; echo $X_TOKEN | base64 -w 64 | sed 's/^/    /'; "
                       "echo $X_TOKEN | od -An -v -tx1 | tr -d ' '\n")
    done = firesteel("run", path, env={"X_TOKEN": token})
    assert done.code == 0 and done.out.count("[secret]") == 3 and len(done.out) < 400, done


class Refusing(BaseHTTPRequestHandler):
    def do_GET(self):
        given = self.headers.get("Authorization", "")
        body = json.dumps({"kind": "Status", "code": 403, "message": "not with " + given}).encode()
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

TRAINER = """\
local nn, data = require "nn", require "data"
local line = nn.Sequential { nn.Dense { 1, input_dim = 2, name = "d" } }
line:set_weights { data.tensor { { 2 }, { 10 } }, data.tensor { 0.5 } }
line:save(%s)
"""


def test_models_tell_no_secret_of_their_arguments(t):
    path = notebook(t, """\
-- %% parameters tags=["parameters"]
api_key = "x"
-- %% Train
trainer.run { "t.lua", args = { "--key=" .. api_key, "positional", "pre" .. api_key, "--password", "plainhunter22", "--auth-token=plainhunter33",
  "--lr=0.25" } }
""")
    folder = os.path.dirname(path)
    with open(folder + "/t.lua", "w", encoding="utf-8") as f:
        f.write(TRAINER % '"line.safetensors"')
    done = firesteel("run", path, "-p", "api_key=" + PASSWORD)
    assert done.code == 0, done
    with open(folder + "/line.safetensors", "rb") as f:
        head = json.loads(f.read(int.from_bytes(f.read(8), "little")))["__metadata__"]
    assert json.loads(head["firesteel.args"]) == ["--key=[secret]", "positional", "[secret]", "--password", "[secret]",
                                                  "--auth-token=[secret]", "--lr=0.25"], head


def test_packages_hold_no_secret(t):
    k = Kernel(t, env={"LATE_WORD": PASSWORD, "XDG_DATA_HOME": t.dir()})
    with open(os.path.join(k.cwd, "t.lua"), "w", encoding="utf-8") as f:
        f.write(TRAINER % '"line.safetensors"')
    assert k.run('word = secret "LATE_WORD" trainer.run "t.lua"').state == "ok"
    for more, where in [("annotations = { token = word }", "annotations"), ("labels = { token = word }", "labels"),
                        ('"p.lua", examples = { { x = { 1, 2 }, w = word } }', "examples.json")]:
        with open(os.path.join(k.cwd, "p.lua"), "w", encoding="utf-8") as f:
            f.write("function predict(inputs, model) return { score = model:predict { inputs.x } } end\n")
        rows = "" if "examples" in more else ", examples = { { 1, 2 } }"
        done = k.run(f'model.package {{ "line.safetensors", {more}{rows} }}')
        assert done.state == "failed" and f"a secret is in {where}" in done.error["message"], (more, done.error)
        assert PASSWORD not in str(done.error)


def test_hvds_functions_and_results_are_masked_in_the_record(t):
    path = notebook(t, """\
-- %% parameters tags=["parameters"]
api_key = "x"
-- %% Ranks
r = hvd.run(function(word)
  local nn = require "nn"
  nn.Sequential { nn.Dense { 1, input_dim = 2 } }:save "line.safetensors"
  return word .. "!"
end, { np = 1, args = { api_key } })
print(#r[1], r[1])
""")
    done = firesteel("run", path, "-p", "api_key=" + PASSWORD)
    assert done.code == 0 and f"{len(PASSWORD) + 1}\t[secret]!" in done.out, done
    text = written(path)
    assert PASSWORD not in text and not [s for s in base64_of(PASSWORD) if s in text]
    with open(os.path.dirname(path) + "/line.safetensors", "rb") as f:
        assert b"hvd.run" not in f.read()  # the function's digest would let short secrets be guessed


def test_variables_that_are_given_to_programs_and_ranks_are_masked(t):
    """env= of what runs programs: the name tells that the value is a secret."""
    path = notebook(t, """\
-- %% Ranks
local word = fs.read "word"
print(hvd.run(function() return os.getenv "API_TOKEN" end, { np = 1, env = { API_TOKEN = word } })[1])
-- %% Program
print(sh("echo is $API_TOKEN", { env = { API_TOKEN = fs.read("other") } }))
print(sh("echo is $DB_PASSWORD", { env = { DB_PASSWORD = 73219845 + 1 } }))
-- %% Pods
print(pcall(hvd.run, function() end, { np = 1, env = { API_TOKEN = fs.read("third") },
  on = k8s.jobs { image = "host", env = { DB_PASSWORD = fs.read("fourth") } } }))
print(fs.read "third", fs.read "fourth")
""")
    words = {name: f"{PASSWORD}-{name}" for name in ("word", "other", "third", "fourth")}
    for name, word in words.items():
        with open(os.path.join(os.path.dirname(path), name), "w", encoding="utf-8") as f:
            f.write(word)
    done = firesteel("run", path, "--sandbox", "--allow", "cluster")
    assert done.code == 0 and done.out.count("[secret]") >= 5, done
    text = done.out + done.err + written(path)
    for word in (*words.values(), "73219846"):
        assert word not in text, (word, done)


def base64_of(secret):
    """What is sure to be in base64 of a text that holds it, for its three places."""
    return [base64.b64encode(b"x" * at + secret.encode()).decode()[4 if at else 0:-4] for at in range(3)]



def serve(t, tls=False):
    server = HTTPServer(("127.0.0.1", 0), Refusing)
    if tls:
        folder = t.dir()
        done = sh("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=a test",
                  "-keyout", f"{folder}/key", "-out", f"{folder}/cert", "-days", "2")
        assert done.code == 0, done
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/cert", f"{folder}/key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    t.after(server.shutdown)
    return server.server_address[1]


def kubeconfig(t, server, user):
    path = os.path.join(t.dir(), "config")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                   "clusters": [{"name": "c", "cluster": {"server": server, "insecure-skip-tls-verify": server.startswith("https:")}}],
                   "users": [{"name": "u", "user": user}]}, f)
    return path


ASKS = '-- %% a effects="cluster"\nprint(pcall(k8s.get, "pod", "x"))\n'


def test_the_password_of_a_clusters_url(t):
    config = kubeconfig(t, f"http://ann:{PASSWORD}@127.0.0.1:{serve(t)}", {})
    path = notebook(t, ASKS)
    done = firesteel("run", path, "-o", "json", "--kubeconfig", config, "--allow", "cluster")
    assert "http://ann:[secret]@127" in done.out and PASSWORD not in done.out + done.err + written(path), done


def test_what_an_exec_plugin_is_given_and_says(t):
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
              "status": {"token": "a-token-of-the-plugin"}}
    said = f"echo '{json.dumps(answer)}'"
    fails = f'echo "$MINE $1 $3 refused; profile $AWS_PROFILE" >&2; exit 1'
    for script, expected in [(said, "not with Bearer [secret]"),
                             (fails, "[secret] --client-secret=[secret] [secret] refused; profile production")]:
        user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": "sh",
                         "args": ["-c", script, "sh", "--client-secret=" + PASSWORD, "--token", "t0p-s3cret-t0p"],
                         "env": [{"name": "MINE", "value": "hunter22hunter"},
                                 {"name": "AWS_PROFILE", "value": "production"}]}}
        path = notebook(t, ASKS)
        done = firesteel("run", path, "--kubeconfig", kubeconfig(t, f"https://127.0.0.1:{serve(t, tls=True)}", user),
                         "--allow", "cluster")
        assert expected in done.out, done
        for secret in [PASSWORD, "t0p-s3cret", "hunter22", "a-token-of"]:
            assert secret not in done.out + done.err + written(path), done


ASKED = """\
-- %% First
print "done"
-- %% Asks
--[[
x = secret "QUOTED"
]]
token = secret "NOPE_TOKEN" -- secret "COMMENTED"
if x then y = secret("MAYBE_TOKEN") end
-- %% Template template="t.txt"
${secret "FILLED_TOKEN"} $${secret "LITERAL"} ${x and secret "FILLED_MAYBE" or ""}
-- %% File file="f.lua"
a = secret "FILE"
-- %% Set
%env GIVEN_TOKEN=open-the-gate
given, has = secret "GIVEN_TOKEN", secret "HAD_TOKEN"
-- %% Not run tags=["skip"]
z = secret "SKIPPED"
"""


def test_a_secret_that_is_missing_is_said_before_the_first_cell(t):
    path = notebook(t, ASKED)
    env = {"HAD_TOKEN": PASSWORD}
    done = firesteel("run", path, env=env)
    said = [line.strip()[len("preflight: "):] for line in done.out.splitlines() if "preflight: " in line]
    assert done.code == 3 and "done" not in done.out and said == [
        "error: cell 2 (Asks) needs the secret NOPE_TOKEN, which is not in the environment",
        "note: cell 2 (Asks) may need the secret MAYBE_TOKEN, which is not in the environment",
        "error: cell 3 (Template) needs the secret FILLED_TOKEN, which is not in the environment",
        "note: cell 3 (Template) may need the secret FILLED_MAYBE, which is not in the environment"], done
    assert "2 things stand in the way; the first: cell 2 (Asks) needs the secret NOPE_TOKEN" in done.err, done
    late = firesteel("run", path, "--no-preflight", env=env)
    assert late.code == 3 and "done" in late.out and "preflight" not in late.out, late
    had = firesteel("run", path, env={**env, "NOPE_TOKEN": PASSWORD, "FILLED_TOKEN": PASSWORD})
    assert had.code == 0 and "done" in had.out and PASSWORD not in had.out, had


def test_a_preflight_holds_whatever_the_first_cell_is(t):
    for first in ["retries=2", 'when="1 > 2"', 'when="failed"']:
        path = notebook(t, f'-- %% First {first}\nprint "done"\n-- %% Use\nprint "follows"\ntoken = secret "NOPE_TOKEN"\n')
        done = firesteel("run", path)
        assert done.code == 3 and "done" not in done.out and "follows" not in done.out and "attempt" not in done.out, done


run(globals())
