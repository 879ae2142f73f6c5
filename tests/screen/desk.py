#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cluster desk, by keys, against a sandbox: tables of any kind over the notebook, other namespaces and contexts, marked
rows, an object in $EDITOR."""
import json
import os
import re

from bench import asked, folder, kernels, opens, text, workbench
from tap import eventually, run

MADE = """-- %% Made effects="cluster"
for _, name in ipairs { "alpha", "beta", "gamma" } do
  k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name, labels = { of = "desk" } }, data = { level = "1" } }
end
k8s.apply { apiVersion = "v1", kind = "Secret", metadata = { name = "hidden" }, stringData = { word = "not-for-editors" } }
k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "elsewhere", namespace = "kube-public" } }
print("all" .. " made")
"""
CHANGE = """-- %% Change effects="cluster"
k8s.patch("configmaps", "beta", { data = { other = "of the cell" } })
print("all" .. " changed")
"""


def made(t, source=MADE, **options):
    where = folder(t, source)
    s = workbench(where, "--sandbox", "small.lua", seconds=10, **options)
    s.where = where
    s.keys("C-e")
    s.wait("may it do this?")
    s.keys("a")
    s.wait("namespace  kube-public")
    s.wait("may it do this?")  # as above: a dialog takes no key at first
    s.keys("a")
    s.wait("│ all made")
    return s


def editor(t, *lines):
    """A program that edits its file by a script of Python, in which `words` is the text and `n` the number of the call."""
    path = os.path.join(t.dir(), "editor")
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/usr/bin/env python3\nimport os, sys\npath = sys.argv[1]\nwords = open(path).read()\n"
                f"log = {path + '.log'!r}\nn = len(open(log).read().split('\\f')) if os.path.exists(log) else 1\n"
                "open(log, 'a').write(words + '\\f')\n" + "\n".join(lines) + "\nopen(path, 'w').write(words)\n")
    os.chmod(path, 0o755)
    return path


def texts_of(program):
    """What the editor was given, call by call."""
    with open(program + ".log", encoding="utf-8") as f:
        return f.read().split("\f")[:-1]


def journal(where):
    run_folder = os.path.join(where, ".firesteel")
    newest = max((os.path.join(root, name) for root, _, names in os.walk(run_folder) for name in names if name.endswith(".jsonl")),
                 key=os.path.getmtime)
    with open(newest, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def test_any_kind_is_a_table_that_leaves_no_trace(t):
    with made(t) as s:
        before = len(journal(s.where))
        opens(s, "cm", "configmaps in default", "alpha", "gamma")
        s.keys("a")
        s.wait("configmaps in all namespaces")
        s.wait("elsewhere")
        s.keys("a")
        s.wait("configmaps in default")
        opens(s, "configmaps -l of=desk", "3 rows")
        opens(s, "cm kube-public", "configmaps in kube-public", "elsewhere")
        s.keys("d")
        s.wait("describe elsewhere")
        s.wait("Namespace:")  # it is there: until then a q would close the table
        s.keys("q")
        s.wait("configmaps in kube-public")
        s.keys("q q q")
        s.wait("COMMAND")
        assert not [row for row in s.screen() if "elsewhere" in row and "│" in row], text(s)
        later = [event["type"] for event in journal(s.where)[before:]]
        assert "display" not in later and "update" not in later, later
        opens(s, "nosuchthing", "has no kind \"nosuchthing\"")
        opens(s, "cm --what", "--what: no such option")
        s.keys("q q")


def test_a_namespace_that_is_not_there_is_told(t):
    with made(t) as s:
        opens(s, "cm typo-here", 'context firesteel-sandbox has no namespace "typo-here"')
        assert "COMMAND" in text(s), text(s)
        opens(s, "cm", "configmaps in default", "alpha")
        opens(s, "ns typo-here", 'no namespace "typo-here"', "alpha")
        opens(s, "pods", 'no namespace "typo-here"')
        opens(s, "ns kube-public", "configmaps in kube-public", "elsewhere")
        s.keys("q q")


def test_filter_and_order_stay_in_all_namespaces(t):
    with made(t) as s:
        opens(s, "cm", "configmaps in default", "gamma")
        s.keys("s S")
        s.wait("by NAME ↓")
        s.keys("/")
        s.type("a$")
        s.keys("Enter")
        s.wait("/a$  3 of 4")
        s.keys("a")
        s.wait("configmaps in all namespaces")
        s.wait("/a$  3 of ")
        s.keys("Esc")
        s.wait("by NAME ↓")
        names = [row.split()[1] for row in s.screen() if row.split()[:1] == ["default"]]
        assert {"alpha", "beta", "gamma"} <= set(names) and names == sorted(names, reverse=True), names
        s.keys("a a a")  # before the columns are there
        s.wait("configmaps in default")
        s.wait("by NAME ↓")
        s.keys("q q")


def test_the_palette_prefers_actions_and_usual_kinds(t):
    with workbench(folder(t), "small.lua") as s:
        s.keys(":")
        s.type("restart")
        s.wait("restart the kernel")
        s.keys("C-u")
        s.type("sparkapp")
        s.wait("sparkapp            ")
        s.wait("a live table of this kind")
        s.keys("C-u")
        s.type("widgets.example.com -A")
        s.wait("a live table of this kind")
        s.keys("C-u")
        s.type("worst")
        s.wait("show what is wrong first")
        s.wait("a live table of this kind")  # behind it
        s.keys("C-u")
        s.type("help")  # an action's name
        s.wait("keys that work here")
        s.gone("a live table of this kind")
        s.keys("Esc")
        s.wait("COMMAND")


def test_names_of_kinds_are_those_of_the_cluster(t):
    with made(t) as s:
        s.keys(":")
        s.wait(" palette")
        s.type("scheduledsp")
        s.wait("scheduledsparkapplications  a live table of sparkoperator.k8s.io/v1beta2")
        s.keys("C-u")
        s.type("configm")
        s.wait("configmaps                  a live table of v1  cm")
        s.keys("Enter")  # no other name begins so
        s.wait("configmaps in default")
        s.keys("q")
        s.wait("COMMAND")


def test_namespaces_and_contexts_are_lists(t):
    with made(t) as s:
        opens(s, "cm", "configmaps in default")
        opens(s, "ns", "namespaces", "kube-public")
        s.keys("/")
        s.type("kube-public")
        s.keys("Enter Enter")
        s.wait("configmaps in kube-public")
        s.wait("elsewhere")
        s.keys("q")
        s.wait("COMMAND")
        opens(s, "cm", "configmaps in kube-public")  # the desk stays there
        opens(s, "ns default", "configmaps in default")
        s.wait("alpha")
        opens(s, "ctx", "contexts", "firesteel-sandbox")
        s.keys("Enter")
        s.wait("configmaps in default")
        s.keys("q")
        s.wait("COMMAND")
        assert "/default" in s.screen()[-1], "the cells stay where they are: " + text(s)


HELD = """-- %% Made effects="cluster"
k8s.create { apiVersion = "v1", kind = "Pod", metadata = { name = "held" }, spec = { nodeSelector = { disk = "fast" },
  containers = { { name = "c", image = "busybox", command = { "true" } } } } }
print("all" .. " made")
"""


def test_why_a_pod_does_not_go_on(t):
    """One key: the cause, what shows it, the next step, and what was looked at."""
    where = folder(t, HELD)
    with workbench(where, "--sandbox", "small.lua", seconds=10) as s:
        s.keys("C-e")
        s.wait("may it do this?")
        s.keys("a")
        s.wait("│ all made")
        opens(s, "pods", "Pending")
        s.keys("W")
        s.wait("why held")
        for part in ("pod held waits for a node: ", "  seen: ", "  next: ", "  looked at: "):
            s.wait(part)
        s.keys("q q")
        s.wait("COMMAND")


def test_nodes_and_who_holds_their_gpus(t):
    with made(t) as s:
        opens(s, "gpus", "CPU ASKED", "HELD BY")
        s.wait("firesteel-sandbox")
        s.keys("d")
        s.wait("Unschedulable:")
        s.keys("q q")
        s.wait("COMMAND")


def test_marked_rows_are_deleted_together(t):
    with made(t) as s:
        opens(s, "cm -l of=desk", "3 rows")
        s.keys("Space Space")
        s.wait("2 marked")
        s.keys("Space")
        s.wait("3 marked")
        s.keys("*")
        s.gone("marked")
        s.keys("/")
        s.type("beta|gamma")
        s.keys("Enter *")
        s.wait("2 marked")
        s.keys("Esc")
        s.wait("2 marked  3 rows")
        s.keys("C-d")
        asked(s, "delete 2 objects")
        for part in ("(ConfigMap beta,", "effect     destructive", "objects    ConfigMap default/beta", "ConfigMap default/gamma"):
            assert part in text(s), text(s)
        s.keys("n")
        s.wait("● idle")
        s.keys("C-d")
        asked(s, "delete 2 objects")
        s.keys("y")
        s.wait("1 row")
        s.gone("marked")
        effects = [event for event in journal(s.where) if event["type"] == "ledger" and event["phase"] == "outcome" and
                   "deleted" in str(event.get("result"))]
        assert len(effects) == 2, effects
        s.keys("q q")


def test_several_rows_get_a_label_and_the_error_tells_how_many(t):
    with made(t) as s:
        opens(s, "cm -l of=desk", "3 rows")
        s.keys("* :")
        s.type("label tier=gpu")
        s.keys("Enter")
        asked(s, "label 3 objects")
        s.keys("y")
        s.gone("label 3 objects")
        s.keys("q")
        s.gone("3 rows")
        opens(s, "cm -l tier=gpu", "3 rows")
        s.keys("* :")
        s.type("label bad/key/here=1")
        s.keys("Enter")
        asked(s, "label 3 objects")
        s.keys("y")
        s.wait("3 of 3 not done")
        s.keys("q")


def test_an_object_in_the_editor(t):
    program = editor(t, "words = words.replace('level: \"1\"', 'level: \"2\"')")
    with made(t, env={"EDITOR": program}) as s:
        opens(s, "cm -l of=desk", "3 rows")
        s.keys("j e")
        asked(s, "edit ConfigMap beta in namespace default", '-  level: "1"', '+  level: "2"')
        first = texts_of(program)[0]
        assert first.startswith("# Please edit the object below."), first
        assert "managedFields" not in first and "kind: ConfigMap" in first, first
        s.keys("n")
        s.wait("not changed")
        s.keys("e")
        asked(s, "edit ConfigMap beta")
        s.keys("y")
        s.wait(" changed")
        s.keys("y")
        s.wait('level: "2"')
        s.keys("q e")
        s.wait("nothing was changed")
        entry = [event for event in journal(s.where) if event["type"] == "ledger" and event.get("binding") == "k8s.edit"]
        assert [event["phase"] for event in entry] == ["intent"], entry
        s.keys("q q")


def test_what_is_refused_comes_back_into_the_editor(t):
    program = editor(t, "if n == 1: words = words.replace('\\ndata:', '\\ndata: [')",
                     "elif n == 2: words = words.replace('\\ndata: [', '\\ndata:').replace('name: beta', 'name: other')",
                     "elif n == 3: words = words.replace('name: other', 'name: beta').replace('\\ndata:', '\\nwrong: 1\\ndata:')",
                     "elif n == 4: words = words.replace('wrong: 1\\n', '').replace('level: \"1\"', 'level: \"3\"')")
    with made(t, env={"EDITOR": program}) as s:
        opens(s, "cm -l of=desk", "3 rows")
        s.keys("j e")
        asked(s, '+  level: "3"')
        s.keys("y")
        s.wait(" changed")
        given = texts_of(program)
        assert len(given) == 4, given
        assert "# line " in given[1] and "data: [" in given[1], given[1]
        assert "# metadata.name cannot be changed: it was beta and is other" in given[2], given[2]
        assert "unknown field" in given[3] and "wrong: 1" in given[3], given[3]
        s.keys("q q")


def test_an_object_that_changes_meanwhile(t):
    program = editor(t, "import time",
                     "flag = sys.argv[0] + '.go'",
                     "if n == 1: words = words.replace('level: \"1\"', 'level: \"9\"')",
                     "while n == 1 and not os.path.exists(flag): time.sleep(0.05)")
    with made(t, source=MADE + "\n" + CHANGE, env={"EDITOR": program}) as s:
        opens(s, "cm -l of=desk", "3 rows")
        s.keys("j e")
        eventually(lambda: os.path.exists(program + ".log"))
        with workbench(s.where, "small.lua", seconds=40) as other:
            other.keys("j C-e")
            other.wait("│ all changed")
        with open(program + ".go", "w", encoding="utf-8"):
            pass
        s.wait("not changed: the object has changed meanwhile")
        again = texts_of(program)[1]
        assert "# the object has changed meanwhile" in again, again
        assert 'level: "9"' in again and "other: of the cell" in again, again
        s.keys("q q")


def test_secrets_are_not_edited_here(t):
    with made(t, env={"EDITOR": "false"}) as s:
        opens(s, "secrets", "Opaque")
        s.keys("e")
        s.wait("has values that are never shown here")
        assert "not-for-editors" not in text(s)
        s.keys("q q")


POD = """-- %% Made effects="cluster"
k8s.create { apiVersion = "v1", kind = "Pod", metadata = { name = "box" }, spec = { restartPolicy = "Never",
  containers = { { name = "box", image = "host", command = { "sleep", "300" } } } } }
k8s.wait { k8s.get("pods", "box"), "jsonpath={.status.phase}=Running", timeout = "30s" }
print("all" .. " made")
"""


def test_a_shell_that_the_server_cannot_open_is_refused_before_it_is_asked_for(t):
    """The sandbox has no exec."""
    with workbench(folder(t, POD), "--sandbox", "small.lua", seconds=10) as s:
        s.keys("C-e")
        s.wait("may it do this?")
        s.keys("a")
        s.wait("│ all made")
        opens(s, "pods", "pods in default", "1/1")
        s.keys("x")
        s.wait("starts nothing in pods: it has no exec")
        assert "May this be done?" not in text(s), text(s)
        opens(s, "cm", "configmaps in default")
        s.keys("x")
        s.wait("nothing here has pods")
        s.keys("q q")


def test_of_several_containers_one_is_chosen_for_a_shell(t):
    two = POD.replace('{ { name = "box"', '{ { name = "side", image = "host", command = { "sh", "-c", "while sleep 0.3; do i=$((i+1)); echo beside $i; done" } }, { name = "box"')
    two = two.replace('{ "sleep", "300" }', '{ "sh", "-c", "echo inside; sleep 300" }')
    with workbench(folder(t, two), "--sandbox", "small.lua", seconds=10) as s:
        s.keys("C-e")
        s.wait("may it do this?")
        s.keys("a")
        s.wait("│ all made")
        opens(s, "pods", "pods in default", "2/2")
        s.keys("x")
        s.wait("containers of box")
        assert [row.split()[:4] for row in s.screen()[2:4]] == [["side", "true", "Running", "0"], ["box", "true", "Running", "0"]], text(s)
        s.keys("Down x")
        s.wait("starts nothing in pods")
        s.keys("Up Enter")
        s.wait("beside")  # that container's log, alone: what the other one has said would come with its next lines
        s.wait(f"beside {4 + max(int(n) for n in re.findall('beside ([0-9]+)', text(s)))}")
        assert "inside" not in text(s), text(s)
        s.keys("q q q q")


run(globals())
