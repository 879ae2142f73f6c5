#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torch.run here: torchrun's variables, output by rank, metrics of what a script prints, a rank that fails, restarts, resume;
a function of a cell in Python; PyTorch itself where it is installed."""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from foreign import ENV, needs_kernels, python, write  # noqa: E402
from tap import CACHE, FIRESTEEL, PATIENCE, Skip, eventually, processes, run, sh  # noqa: E402

# Ranks find one another by MASTER_ADDR and MASTER_PORT, as PyTorch's do, and rank 0 prints the variables of all.
MEET = """\
import json, os, socket, sys, time
NAMES = ("RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE NODE_RANK GROUP_RANK ROLE_RANK ROLE_WORLD_SIZE OMP_NUM_THREADS "
         "TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS JAX_NUM_PROCESSES JAX_PROCESS_ID").split()
mine = {n: os.environ.get(n) for n in NAMES}
at = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
assert os.environ["JAX_COORDINATOR_ADDRESS"] == "%s:%d" % at and os.environ["TORCHELASTIC_RUN_ID"]
if mine["RANK"] == "0":
    with socket.create_server(at) as server:
        rest = []
        for _ in range(int(mine["WORLD_SIZE"]) - 1):
            with server.accept()[0] as peer:
                rest.append(json.loads(peer.makefile().readline()))
    print("all " + json.dumps(sorted([mine] + rest, key=lambda one: int(one["RANK"]))))
else:
    while True:
        try:
            with socket.create_connection(at) as peer:
                peer.sendall((json.dumps(mine) + "\\n").encode())
            break
        except OSError:
            time.sleep(0.05)
print("words", sys.argv[1:])
"""


def play(t, script, cells, *options, **files):
    folder = t.dir()
    write(folder, "train.py", script)
    for name, text in files.items():
        write(folder, name, text)
    write(folder, "n.lua", cells)
    return folder, again(folder, *options)


def again(folder, *options):
    return sh(FIRESTEEL, "run", "n.lua", *options, cwd=folder, env=ENV)


def recorded(folder):
    """The newest run's metrics."""
    newest, *_ = json.loads(sh(FIRESTEEL, "runs", "-o", "json", cwd=folder).out)
    return {name: one["value"] for name, one in newest["metrics"].items()}


def test_torchrun_s_variables(t):
    _, done = play(t, MEET, '-- %% Run\ntorch.run { "train.py", nodes = 2, nproc = 2, args = { lr = 0.1, amp = true, dry = false } }\n')
    assert done.code == 0 and "Running train.py on 4 ranks..." in done.out, done
    (line,) = [one for one in done.out.splitlines() if "[0]<stdout>:all " in one]
    ranks = json.loads(line.split("all ", 1)[1])
    for rank, one in enumerate(ranks):
        wanted = {"RANK": rank, "LOCAL_RANK": rank % 2, "WORLD_SIZE": 4, "LOCAL_WORLD_SIZE": 2, "NODE_RANK": rank // 2, "GROUP_RANK": rank // 2,
                  "ROLE_RANK": rank, "ROLE_WORLD_SIZE": 4, "OMP_NUM_THREADS": 1, "TORCHELASTIC_RESTART_COUNT": 0,
                  "TORCHELASTIC_MAX_RESTARTS": 0, "JAX_NUM_PROCESSES": 4, "JAX_PROCESS_ID": rank}
        assert one == {name: str(value) for name, value in wanted.items()}, (rank, one)
    for rank in range(4):
        assert f"[{rank}]<stdout>:words ['--amp', '--lr=0.1']" in done.out, done


METRICS = """\
import os, sys
rank = int(os.environ["RANK"])
for epoch in (1, 2):
    for step in range(1, 4):
        print("\\rEpoch %d/2: %3d%%|###| %d/3 [00:00<00:00, 9.9it/s, loss=%.2f]" % (epoch, step * 33, step, 1 / epoch), end="", file=sys.stderr)
    print(file=sys.stderr)
    print("epoch=%d/2 val_loss=%.2f rank=%d" % (epoch, (rank + 1) / epoch, rank))
print('{"test_accuracy": 0.97}')
"""


def test_what_it_prints_becomes_metrics(t):
    cells = '-- %% Run\njob = torch.run { "train.py", nproc = 2 }\nprint(#job.history, job.history[2].metrics.loss, job.metrics.test_accuracy)\njob\n'
    folder, done = play(t, METRICS, cells)
    assert done.code == 0 and "2\t0.5\t0.97" in done.out and "ok, 2 epochs, " in done.out, done
    assert "it/s" not in done.out and "[1]<stdout>:epoch=2/2 val_loss=1.00 rank=1" in done.out, done
    metrics = recorded(folder)
    assert metrics["val_loss"] == 0.5 and metrics["loss"] == 0.5 and metrics["test_accuracy"] == 0.97 and "rank" not in metrics, metrics


FAILS = """\
import os, signal, time
if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    HOW
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    time.sleep(300.125)
print("attempt", os.environ["TORCHELASTIC_RESTART_COUNT"])
"""


def test_the_rank_that_failed_is_named(t):
    for how, words in (("raise RuntimeError('no more disk')", "rank 1 exited with 1: RuntimeError: no more disk"),
                       ("os.kill(os.getpid(), signal.SIGKILL)", "rank 1 was ended by signal 9 (SIGKILL)"),
                       ("raise SystemExit(7)", "rank 1 exited with 7")):
        _, done = play(t, FAILS.replace("HOW", how), '-- %% Run timeout="60s"\ntorch.run { "train.py", nproc = 3 }\n')
        assert done.code == 1 and f"torch.run: train.py: {words}" in done.out, done
    _, done = play(t, FAILS.replace("HOW", "raise SystemExit(7)"),
                   '-- %% Run timeout="60s"\nprint(torch.run({ "train.py", nproc = 2, check = false }).code)\n')
    assert done.code == 0 and "\n    7\n" in done.out, done


def test_all_ranks_are_started_again(t):
    _, done = play(t, FAILS.replace("HOW", "os.kill(os.getpid(), signal.SIGKILL)"),
                   '-- %% Run timeout="60s"\nprint(torch.run({ "train.py", nproc = 2, restarts = 2 }).restarts)\n')
    assert done.code == 0, done
    assert "rank 1 was ended by signal 9 (SIGKILL): all ranks are started again" in done.out, done
    assert "[0]<stdout>:attempt 1" in done.out and "[1]<stdout>:attempt 1" in done.out and "\n    1\n" in done.out, done


RESUMED = """\
-- %% Train
local f = io.open("count", "a")
job = torch.run { "train.py", inputs = { "data.txt" }, outputs = { "model.txt" } }
print("loss", job.metrics.loss)
-- %% Second
if not io.open "go" then error "not yet" end
"""
WRITES = """\
open("count", "a").write("x")
open("model.txt", "w").write(open("data.txt").read())
print("epoch=1 loss=0.25")
"""


def test_a_resumed_run_trains_when_something_has_changed(t):
    folder, done = play(t, WRITES, RESUMED, **{"data.txt": "1"})
    assert done.code == 1, done
    write(folder, "go", "")

    def count():
        with open(os.path.join(folder, "count"), encoding="utf-8") as f:
            return f.read()
    for change, wanted in ((None, "x"), (("train.py", WRITES + "# changed\n"), "xx"), (("data.txt", "2"), "xxx"), (("model.txt", "?"), "xxxx")):
        if change:
            write(folder, *change)
        done = again(folder, "--resume", "last")
        assert done.code == 0 and count() == wanted, (change, count(), done)
        assert change or "loss=0.25" in done.out, done


FUNCTION = """\
import firesteel
def train(lr, steps=1):
    import os
    import beside
    for epoch in range(1, 3):
        print(f"epoch={epoch} loss={beside.value * lr * steps}")
    print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"])
job = firesteel.torch.run(train, nproc=2, args={"lr": 0.25, "steps": 3})
print("loss is", job.metrics["loss"], "after", len(job.history))
"""


def test_a_function_of_a_cell_in_python(t):
    needs_kernels()
    _, done = play(t, "", python(FUNCTION), **{"beside.py": "value = 2\n"})
    assert done.code == 0 and "Running function train on 2 ranks..." in done.out, done
    assert "[1]<stdout>:rank 1 of 2" in done.out and "loss is 1.5 after 2" in done.out, done


def test_functions_that_cannot_go(t):
    needs_kernels()
    cell = ("import firesteel\ndef outer():\n    held = 1\n    def inner(): return held\n    return inner\n"
            "for f in (outer(), lambda: 1):\n    try:\n        firesteel.torch.run(f)\n    except TypeError as e:\n        print(e)\n")
    _, done = play(t, "", python(cell))
    assert done.code == 0 and "inner uses held of a function around it" in done.out, done
    assert "take a function that is written with def" in done.out, done


REFUSED = """\
-- %% Refused
for _, options in ipairs { {}, { "none.py" }, { "train.py", nodes = 0 }, { "train.py", nproc = 1.5 }, { "train.py", node = 2 },
  { "train.py", args = { { 1 } } }, { "train.py", python = "/nonexistent/python" } } do
  print(select(2, pcall(torch.run, options)))
end
"""


def test_what_is_wrong_is_named(t):
    _, done = play(t, "", REFUSED)
    assert done.code == 0, done
    for words in ('expects a script: torch.run { "train.py", nodes = 2 }', "there is no file none.py", "nodes must be an integer from 1 to 4096, not 0",
                  "nproc must be an integer", "has no option node; did you mean", "args: word 1 is a table", "/nonexistent/python"):
        assert words in done.out, (words, done)


def test_an_interrupt_leaves_nothing(t):
    folder = t.dir()
    write(folder, "train.py", "import subprocess\nsubprocess.run(['sleep', '300.375'])\n")
    write(folder, "n.lua", '-- %% Run\ntorch.run { "train.py", nproc = 2 }\n')
    child = subprocess.Popen([FIRESTEEL, "run", "n.lua"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: len(processes("sleep 300.375")) >= 2)
    child.send_signal(signal.SIGINT)
    assert child.wait(30 * PATIENCE) == 130
    eventually(lambda: not processes("sleep 300.375"))


DDP = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 2, generator=torch.Generator().manual_seed(dist.get_rank()))
y = x @ torch.tensor([[1.0], [2.0]])
for epoch in range(1, 31):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    print(f"epoch={epoch} loss={loss.item():.6f}")
weights = [torch.zeros(1, 2) for _ in range(dist.get_world_size())]
dist.all_gather(weights, model.module.weight.data)
print("same" if torch.equal(*weights) else "different", dist.is_torchelastic_launched() if hasattr(dist, "is_torchelastic_launched") else True)
"""


def with_torch():
    for one in ("/usr/bin/python3", os.path.join(CACHE, "peers", "bin", "python")):
        if os.path.exists(one) and sh(one, "-c", "import torch.distributed as d; assert d.is_available()").code == 0:
            return one
    raise Skip("PyTorch is not installed (python3-torch)")


def test_pytorch_s_own_ranks(t):
    one = with_torch()
    folder, done = play(t, DDP, f'-- %% Run timeout="120s"\ntorch.run {{ "train.py", nodes = 2, python = "{one}" }}\n')
    assert done.code == 0 and "[0]<stdout>:same True" in done.out and "[1]<stdout>:same True" in done.out, done
    assert recorded(folder)["loss"] < 0.05, done


run(globals())
