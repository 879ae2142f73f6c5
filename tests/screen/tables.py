#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Live tables on the full screen, by keys, against a sandbox whose pods are processes: filter, order,
describe, YAML, logs, delete, changes while one looks; and progress, questions, status line, help."""
import os
import re
import signal

from bench import folder, leave, sandbox_of, text, workbench
from sandbox import sandbox
from sparkdriver import Driver
from tap import FIRESTEEL, eventually, run, sh

PODS = """-- %% Deploy effects="cluster"
local function pod(name, script)
  k8s.apply { apiVersion = "v1", kind = "Pod", metadata = { name = name, labels = { app = "many" } },
    spec = { restartPolicy = "Never", containers = { { name = "main", image = "host",
      command = { "sh", "-c", script } } } } }
end
pod("alpha", "while sleep 1; do :; done")
pod("beta", "for i in $(seq 1 40); do echo line $i of beta; done; while sleep 1; do :; done")
pod("gamma-with-a-very-long-name-0f1e2d3c4b-worker", "exit 3")
k8s.watch("pods", { selector = "app=many" })

-- %% More effects="cluster"
k8s.apply { apiVersion = "v1", kind = "Pod", metadata = { name = "delta", labels = { app = "many" } },
  spec = { restartPolicy = "Never", containers = { { name = "main", image = "host",
    command = { "sh", "-c", "while sleep 1; do :; done" } } } } }

-- %% Less effects="destructive"
k8s.delete("pod", "alpha")
"""


def deployed(t, **options):
    """The pods' table on the full screen, when all three pods have their final state."""
    where = folder(t, PODS)
    s = workbench(where, "small.lua", "--sandbox", seconds=40, **options)
    s.where = where
    s.keys("C-e")
    s.wait("may it do this?")
    s.keys("a")
    s.wait("[●]")
    s.keys("O")
    s.wait("3 rows")
    s.wait("Error")
    return s


def names(s):
    """The first words of the table's rows, in order."""
    rows = s.screen()
    start = next(i for i, row in enumerate(rows) if row.startswith(" NAME"))
    return [row.split()[0] for row in rows[start + 1:-1] if row.strip() and not row.startswith("/")]


def selected(s):
    """The name in the row with the cursor: the reversed row that is not the status line."""
    row, found = "", None
    for line in s.styles():
        if line.startswith("|"):
            row = line[1:]
        elif "reverse" in line and found is None and row.startswith(" "):
            found = row.split()[0]
    return found


def cursor_on(s, name):
    eventually(lambda: selected(s) == name)


def order(s, *wanted):
    eventually(lambda: names(s) == list(wanted))


def test_rows_are_filtered_ordered_and_followed(t):
    with deployed(t) as s:
        long = "gamma-with-a-very-long-name-0f1e2d3c4b-worker"
        order(s, "alpha", "beta", long)
        s.keys("/")
        s.type("run(ning)?$")
        s.wait("2 of 3")
        order(s, "alpha", "beta")
        s.keys("C-u")
        s.type("!running")
        s.wait("1 of 3")
        order(s, long)
        s.keys("Enter Esc")
        s.wait("3 rows")
        s.keys("s S")
        s.wait("by NAME ↓")
        order(s, long, "beta", "alpha")
        s.keys("G")
        cursor_on(s, "alpha")
        s.keys("S")
        s.wait("by NAME ↑")
        order(s, "alpha", "beta", long)
        cursor_on(s, "alpha")  # it stays with its row
        s.keys("s s")
        s.wait("by STATUS")
        order(s, long, "alpha", "beta")  # Error before Running
        s.keys("q q")


def test_what_can_be_done_to_a_row(t):
    with deployed(t) as s:
        s.wait("d describe")  # the keys are in the status line
        s.keys("j d")
        s.wait("Service Account:")
        s.wait("Namespace:        default")
        s.keys("q y")
        s.wait("kind: Pod")
        s.keys("q l")
        s.wait("line 40 of beta")
        s.keys("Esc")
        s.wait(" NAME")
        s.keys("Enter")
        s.wait("line 40 of beta")
        s.keys("q")
        s.wait(" NAME")
        cursor_on(s, "beta")
        s.keys(":")
        s.type("label tier=gpu rank=3")
        s.wait("sets one, removes another")
        s.keys("Enter")
        s.wait("label Pod beta (tier=gpu rank=3)")
        s.quiet(700)  # a question takes no key in its first half second
        s.keys("y")
        s.gone("label Pod beta (tier=gpu rank=3)")
        s.keys("y")
        s.wait("kind: Pod")
        s.wait("tier: gpu")
        s.keys("q :")
        s.type("explain spec.restartPolicy")
        s.keys("Enter")
        s.wait("FIELD: restartPolicy <string>")
        s.keys("q :")
        s.type("scale 3")
        s.keys("Enter")
        s.wait("this table has no scale")
        s.keys("C-d")
        s.wait("destructive")
        for part in ("delete Pod beta", "context    firesteel-sandbox", "namespace  default", "objects    Pod beta"):
            assert part in text(s), text(s)
        s.keys("n")
        s.gone("destructive")
        eventually(lambda: "beta" in names(s))
        s.keys("C-d")
        s.wait("destructive")
        s.keys("y")
        s.wait("2 rows")
        eventually(lambda: "beta" not in names(s))
        cursor_on(s, "gamma-with-a-very-long-name-0f1e2d3c4b-worker")  # the next row
        s.keys("q q")


def below(s):
    """What stands below the first cell of the notebook: its outputs' rows."""
    return [row for row in s.screen() if "│" in row]


def test_what_is_looked_at_leaves_nothing_unless_it_is_pinned(t):
    with deployed(t) as s:
        s.keys("j l")
        s.wait("line 40 of beta")
        s.wait("P pin")
        s.keys("q d")
        s.wait("Service Account:")
        s.keys("q q")
        s.wait("COMMAND")
        assert not [row for row in below(s) if "line" in row or "beta:" in row], text(s)
        s.keys("O")
        s.wait("3 rows")
        assert "1 of" not in text(s), "there is nothing but the table: " + text(s)
        s.keys("j l")
        s.wait("line 40 of beta")
        s.keys("P")
        s.wait("it stays below the cell")
        s.keys("P")
        s.wait("stands below its cell already")
        s.gone("P pin")
        s.keys("q q")
        s.wait("│ line 17 of beta")
        s.keys("O")
        s.wait("3 rows")
        s.wait("1 of 3")
        s.keys("q q")


def test_rows_come_and_go_while_one_looks(t):
    with deployed(t) as s:
        s.keys("j")
        with workbench(s.where, "small.lua", seconds=40) as other:
            other.keys("j C-e")
            s.wait("4 rows")
            cursor_on(s, "beta")
            other.keys("j C-e")
            other.wait("may it do this?")
            s.wait("destructive")  # a question comes up over the table as well
            other.keys("y")
            s.gone("destructive")
            s.wait("3 rows")
            assert names(s)[0] == "beta", text(s)
            cursor_on(s, "beta")
            other.keys("q")
            other.exit()
        s.keys("q q")


WIDE = """local r = {}
for i = 10, 40 do r["col" .. i] = i * 1001 end
display.table({ r, r })
"""


def test_a_wide_table_is_seen_to_its_last_column(t):
    with workbench(folder(t, WIDE)) as s:
        s.keys("C-e")
        s.wait("col10")  # "[1]" stands in the last row as soon as it runs
        s.keys("O")
        s.wait("2 rows")
        numbers = {str(i * 1001) for i in range(10, 41)}
        seen = set()
        while seen != numbers:
            before = s.styles()
            for row in s.screen()[1:4]:
                words = row.split()
                cut = [w for w in words if w not in numbers and not re.fullmatch(r"col\d\d", w)]
                assert not cut, (cut, row)  # whole columns alone
                seen |= set(words) & numbers
            if seen != numbers:  # at the end nothing would move any more
                s.keys("Right")
                eventually(lambda drawn=before: s.styles() != drawn)
        s.keys("q")
        leave(s)


def test_a_small_screen_keeps_what_matters(t):
    with deployed(t, size="40x10") as s:
        assert "STATUS" in text(s) and "Running" in text(s), text(s)
        assert "gamma" in text(s) and "worker" in text(s), "a name loses its middle: " + text(s)
        for _ in range(8):
            s.keys("Right")
        s.wait("NODE")
        assert "NAME" in text(s) and "STATUS" not in text(s), text(s)
        s.keys("Left Left Left Left Left Left Left Left C-d")
        s.wait("Down Up")  # the dialog scrolls
        assert "delete Pod alpha" in text(s)
        s.keys("G")
        s.keys("PgDn")
        s.wait("Pod alpha")
        assert "y yes" in text(s), text(s)
        s.keys("n")
        s.gone("y yes")
        s.keys("q q")


def test_a_server_that_is_away_is_told(t):
    with deployed(t) as s:
        os.kill(eventually(lambda: sandbox_of(s.where)), signal.SIGKILL)
        s.wait(" old")
        assert names(s)[0] == "alpha", "what was known stays"
        s.keys("q q")


def test_a_table_names_no_other_ones_watch_when_the_server_is_away(t):
    env = sandbox(t)
    where = folder(t, '-- %% Two\nk8s.watch("jobs")\nk8s.watch("pods")\n')
    with workbench(where, env=env, size="160x40", seconds=30) as s:
        s.keys("C-e")
        s.wait("[●]")
        s.quiet(300)
        assert sh(FIRESTEEL, "sandbox", "down", env=env).code == 0
        s.wait(" old: 127.0.0.1")
        s.keys("O Tab")
        s.wait("pods in default")
        eventually(lambda: " old: 127.0.0.1" in s.screen()[0] and re.search(r" \d+s old", s.screen()[-1]))
        assert "127.0.0.1" not in s.screen()[-1] and "d describe" in s.screen()[-1], "the title has the reason: " + text(s)
        assert "watch " not in text(s), text(s)
        s.keys("q q")


NOBODY = """apiVersion: v1
kind: Config
current-context: far
clusters: [{name: far, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: me, user: {}}]
contexts: [{name: far, context: {cluster: far, user: me}}]
"""


def test_a_server_that_was_never_heard_is_away_and_not_old(t):
    where = folder(t, '-- %% Pods\nk8s.watch("pods")\n')
    config = os.path.join(where, "config")
    with open(config, "w", encoding="utf-8") as f:
        f.write(NOBODY)
    with workbench(where, env={"KUBECONFIG": config}, seconds=30) as s:
        s.keys("C-e")
        s.wait("server away: ")
        assert "0s old" not in text(s), text(s)
        s.keys("q")
        s.exit()


def test_the_last_row_of_a_full_screen_has_whole_words(t):
    where = folder(t, '-- %% Pods\nk8s.watch("pods")\n')
    with workbench(where, env=sandbox(t), size="80x24") as s:
        s.keys("C-e")
        s.wait("[●]")
        s.keys("b")
        s.wait("small.lua +")
        s.keys("k O")
        s.wait(" table ")
        s.quiet()
        row = s.screen()[-1]
        assert re.search(r"⎈ [\w-]+/default  \? keys  d describe  .*q back +●", row) and "+" not in row and "…" not in row, row
        s.keys("q : q ! Enter")
        s.exit()


OUTPUTS = """-- %% Several
print("a line of text")
display.table({{"x", 10}, {"y", 9}}, {columns = {"NAME", "N"}})
display.plot { loss = {3, 2, 1, 0/0, 1/0, 0.5}, title = "a curve" }

-- %% Bar
local p = display.progress(10, "work")
for i = 1, 10 do p:update(i) sh "sleep 0.3" end
p:close()

-- %% Trained
print("Epoch 2/4")
display { ["text/plain"] = "x", ["application/vnd.firesteel.progress+json"] = {
  label = "epoch", epoch = 2, epochs = 4, done = 5, total = 10, elapsed = 3,
  metrics = { loss = 0.25, accuracy = 0.9 },
  history = { { metrics = { loss = 0.9, val_loss = 1.0, accuracy = 0.5 } },
              { metrics = { loss = 0.5, val_loss = 0.7, accuracy = 0.8 } } } } }
"""


def test_a_key_goes_round_what_a_cell_has_left(t):
    with workbench(folder(t, OUTPUTS)) as s:
        s.keys("C-e")
        s.wait("[1] Several")
        s.wait("● idle")  # while it runs, the last row names it, too
        s.keys("O")
        s.wait("plot  2 of 3")  # curves come first, also when all has ended
        s.keys("Tab")
        s.wait("a line of text")
        s.keys("Tab")
        s.wait("table  1 of 3")
        s.keys("s s")
        s.wait("by N ↑")
        order(s, "y", "x")  # 9 comes before 10
        s.keys("d")
        s.wait("this table has no describe")
        s.keys("Tab")
        s.wait("plot  2 of 3")
        s.keys("S-Tab")
        s.wait("table  1 of 3")
        s.keys("S-Tab")
        s.wait("a line of text")
        s.keys("q")
        s.wait("COMMAND")
        leave(s)


def test_progress_says_what_is_left(t):
    with workbench(folder(t, OUTPUTS)) as s:
        s.keys("j C-e")
        s.wait("s left")
        s.wait("/s  in ")  # closed: how long it took instead
        assert re.search(r" 10/10  \d+\.\d/s  in \d+\.\ds", text(s)), text(s)
        s.keys("O")
        s.wait("Tab the next output")
        assert "zoom" not in s.screen()[-1], "there is no curve: " + text(s)
        s.keys("q")
        leave(s)


CURVES = """-- %% Trained
local h = {}
for i = 1, 12 do
  h[i] = { epoch = i, metrics = { loss = 0.9 / i, val_loss = 1.0 / i, accuracy = 1 - 0.5 / i,
    val_accuracy = 1 - 0.6 / i, lr = 0.001 } }
end
display { ["text/plain"] = "x", ["application/vnd.firesteel.progress+json"] = {
  label = "epoch", epoch = 12, epochs = 12, done = 10, total = 10, elapsed = 3, history = h } }

-- %% Waves
local x, y = {}, {}
for i = 1, 100 do x[i] = 1000 + i / 10 y[i] = math.sin(i / 10) end
display.plot { wave = y, x = x }
"""


def test_curves_have_axes_and_are_read(t):
    with workbench(folder(t, CURVES), size="120x40") as s:
        s.keys("C-r")
        s.wait("── accuracy 0.9583  ── val_accuracy 0.95")
        s.wait("10 epoch 12")  # the row below the curves comes last
        axis = [row for row in s.screen() if "epoch" in row and " 2 " in row]
        assert axis and " epoch 12" in axis[0] and " 8 " in axis[0], text(s)
        assert "0.0 ┤" not in text(s) and "0.5 ┤" in text(s), text(s)
        s.keys("k O")
        s.wait("── lr 0.001")  # the full screen has all metrics
        s.keys("Right Right")
        s.wait("at epoch 2")
        s.wait("── loss 0.45  ── val_loss 0.5")
        s.keys("m m")
        s.wait("accuracy  at epoch 2")
        assert "loss" not in text(s), text(s)
        s.keys("q j C-e")
        s.wait("[2] Waves")
        s.wait("1005")  # the x that was given
        s.keys("O Left")
        s.wait("at 1010")
        s.keys("+ +")
        s.wait("enlarged")
        eventually(lambda: "1002" not in text(s) and "1009" in text(s))  # by the second one
        leave_full(s)


def leave_full(s):
    s.keys("q")
    s.wait("COMMAND")
    leave(s)


def test_progress_and_curves_without_unicode_and_in_little_room(t):
    with workbench(folder(t, OUTPUTS), term="vt100", size="40x24", env={"LC_ALL": "C"}) as s:
        s.keys("j j C-e")
        s.wait("5/10")
        s.wait("loss 0.2500")
        s.wait("***")  # curves without braille
        s.wait("####")
        assert "?" not in text(s).replace("? help", ""), text(s)
        s.wait("val_loss")
        s.keys("O")
        s.wait("progress  1 of 2")  # rather than the text, though the training has ended
        s.wait("val_loss")
        s.keys("q")
        leave(s)


TRAINING = """-- %% Deploy effects="cluster"
local script = [[
echo "a word before"
for e in 1 2 3; do
  echo '@firesteel {"event":"epoch","epoch":'$e',"epochs":4,"steps":10,"elapsed":'$e',"metrics":{"loss":0.'$((9-e))',"val_loss":0.9}}'
done
while sleep 1; do :; done
]]
k8s.create({ apiVersion = "v1", kind = "Pod", metadata = { name = "trains" },
  spec = { restartPolicy = "Never", containers = { { name = "main", image = "host", command = { "sh", "-c", script } } } } }):watch()
"""


def test_a_training_in_a_pod_shows_its_curves(t):
    where = folder(t, TRAINING)
    with workbench(where, "small.lua", "--sandbox", seconds=40) as s:
        s.keys("C-e")
        s.wait("may it do this?")
        s.keys("a")
        s.wait("3/4")
        s.wait("1.0s left")  # three epochs in three seconds, and one to go
        s.wait("─ loss 0.6")
        assert "@firesteel" not in "".join(row for row in s.screen() if "│" in row), text(s)
        s.keys("O")
        s.wait("pod trains  1 of")
        s.keys("l")
        s.wait("a word before")
        assert "@firesteel" not in text(s), text(s)
        s.keys("Esc")
        s.wait("NAME")
        s.keys("Tab")
        s.wait("progress  2 of 3")  # the log that was looked at is none of its outputs
        s.keys("q q")


ASKING = """-- %% Name
print("hello " .. input "your name?")

-- %% Secret
local token = secret "APP_TOKEN"
print(#token)
"""


def test_a_long_question_is_read_to_its_end(t):
    lines = "\\n".join(f"line {i} of it" for i in range(1, 16))
    with workbench(folder(t, f'print("hello " .. input "{lines}")\n'), size="60x12") as s:
        s.keys("C-e")
        s.wait("line 1 of it")
        assert "line 15" not in text(s), text(s)
        s.quiet(700)
        s.type("jk")  # letters are the answer's
        s.keys("Down")
        s.gone("line 1 of it")
        s.keys("PgDn PgDn PgDn")
        s.wait("line 15 of it")
        s.keys("PgUp PgUp PgUp")
        s.wait("line 1 of it")
        s.wait("> jk")
        s.keys("Enter")
        s.wait("hello jk")
        leave(s)


def test_answers_are_edited_put_off_and_secret(t):
    with workbench(folder(t, ASKING), env={"APP_TOKEN": None}) as s:
        s.keys("C-e")
        s.wait("Name asks")
        s.type("Wrold")
        s.keys("Esc")
        s.wait("A asks again")
        s.keys("j")
        s.wait("A answers the question")
        assert "asking" in s.screen()[-1], text(s)
        s.keys("A")
        s.wait("Name asks")
        s.wait("> Wrold")
        s.type("world")
        s.keys("C-a")
        s.type("new ")
        s.keys("C-e C-w")
        s.paste("pasted\nand no more")
        s.wait("> new pasted")
        s.keys("Enter")
        s.wait("hello new pasted")
        s.wait("idle")
        s.keys("j C-e")
        s.wait("Secret asks")
        s.type("hunter22")
        s.wait("> ********")
        assert "hunter22" not in text(s)
        s.keys("Left Backspace Enter")
        s.wait("│ 7")
        leave(s)


def test_after_an_answer_the_next_cell_is_selected(t):
    with workbench(folder(t, ASKING)) as s:
        s.keys("C-r")
        s.wait("Name asks")
        s.wait("▌[?] Name")
        s.type("world")
        s.keys("Enter")
        s.wait("hello world")
        s.wait("▌[ ] Secret")
        s.wait("idle")
        leave(s)


def test_a_question_waits_until_nothing_is_typed(t):
    with workbench(folder(t, ASKING)) as s:
        s.keys("j C-e k Enter")
        s.wait("EDIT")
        s.keys("Esc")
        s.wait("Secret asks")
        s.keys("C-c")
        s.wait("interrupted")
        leave(s)


def test_what_spark_does_inside_below_a_cell_and_on_the_full_screen(t):
    with Driver("3.5") as driver:
        cell = f'-- %% Inside\nspark.ui("{driver.url}", {{ skew_seconds = 1, every = "500ms" }})\n'
        with workbench(folder(t, cell), size="130x40") as s:
            s.keys("C-e")
            s.wait("runs for more than")
            s.wait("Spark inside: 0 of 1 job ended, 1 task run on 2 cores")
            s.wait("executors of inside, 2 cores")
            s.wait("39/40")
            s.keys("O")
            s.wait("1 of 5")
            driver.then("3.5", "ended")
            s.wait("6 of 6 jobs ended")
            for column in ("NEXT STEP", "PEAK HEAP", "QUERY", "ACTIVE"):  # of findings, executors, queries, jobs: Tab goes round
                for _ in range(5):
                    if column in text(s):
                        break
                    s.keys("Tab")
                    s.quiet(300)
                    s.wait("of 6")
                assert column in text(s), text(s)
            s.keys("q")
            s.wait("COMMAND")
            leave(s)


def test_the_help_is_found_in(t):
    with workbench(folder(t)) as s:
        s.keys("?")
        s.wait("Running")
        s.keys("/")
        s.type("line numbers")
        s.gone("interrupt the kernel")
        assert "show or hide line numbers" in text(s), text(s)
        s.keys("Esc")
        s.wait("interrupt the kernel")
        s.keys("q")
        s.wait("COMMAND")
        s.resize("130x30")
        s.keys("?")
        s.wait("Running, while editing")
        s.keys("q")
        leave(s)


run(globals())
