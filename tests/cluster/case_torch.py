# SPDX-License-Identifier: MIT
"""torch.run of a cell whose nodes are pods: of plain Jobs and of an MPIJob. The pods have this machine's Python by their template."""
import tap
from images import BUSYBOX
from place import MADE, Place
from scripts import MEET, ON, with_python

KINDS = MADE + ",mpijobs"


def play(place, script, cells, **rest):
    with open(f"{place.dir}/train.py", "w", encoding="utf-8") as f:
        f.write(script)
    return place.run(cells, **rest)


def test_a_script_by_jobs(t):
    place = with_python(Place(t))
    done = play(place, MEET, f"""
-- %% Ranks
on = k8s.jobs {{ {ON} }}
job = torch.run {{ "train.py", nodes = 2, nproc = 2, args = {{ lr = 0.1 }}, env = {{ COLOUR = "red" }}, files = {{ "more/own.py" }}, on = on }}
print("loss", job.metrics.loss, #job.history, job.restarts)
job
-- %% Fails
print(select(2, pcall(torch.run, {{ "train.py", nodes = 2, args = {{ "--fail" }}, files = {{ "more/own.py" }}, on = on }})))
-- %% Restarts
print(select(2, pcall(torch.run, {{ "train.py", nodes = 2, restarts = 1, on = on }})))
""")
    assert done.code == 0 and "Running train.py on 4 ranks by plain Jobs..." in done.out, done
    for rank in range(4):
        assert f"[{rank}]<stdout>:here rank {rank} of 4, local {rank % 2} of 2, node {rank // 2}, ['--lr=0.1'], red, own" in done.out, (rank, done)
    assert "loss\t0.5\t2\t0" in done.out and "ok, 2 epochs, " in done.out, done
    assert "torch.run: train.py: rank 1 exited with 1: RuntimeError: no more disk" in done.out, done
    print("#", [line for line in done.out.splitlines() if line.startswith("    ok ")])
    assert "k8s.jobs: restarts: one pod alone would be started again" in done.out, done
    place.nothing_left("firesteel/torch", kinds=KINDS)


def test_a_script_by_an_mpijob(t):
    place = with_python(Place(t))
    done = play(place, MEET, f"""
-- %% Ranks
on = k8s.mpijob {{ {ON} }}
job = torch.run {{ "train.py", nodes = 3, files = {{ "more/own.py" }}, on = on }}
print("loss", job.metrics.loss)
-- %% Fails
print(select(2, pcall(torch.run, {{ "train.py", nodes = 2, args = {{ "--fail" }}, files = {{ "more/own.py" }}, on = on }})))
""")
    assert done.code == 0 and "[2]<stdout>:here rank 2 of 3, local 0 of 1, node 2, []" in done.out and "loss\t0.5" in done.out, done
    assert "torch.run: train.py: rank 1 exited with 1: RuntimeError: no more disk" in done.out, done
    place.nothing_left("firesteel/torch", kinds=KINDS)


def test_a_pod_that_is_out_of_memory_is_the_reason(t):
    place = with_python(Place(t))
    done = play(place, """\
import os, time
if os.environ["RANK"] == "1":
    held = bytearray(os.urandom(1 << 20) * 400)
time.sleep(60)
""", f"""
-- %% Out of memory timeout="2m"
torch.run {{ "train.py", nodes = 2, on = k8s.jobs {{ {ON.replace('"128Mi"', '"64Mi"')} }} }}
""")
    told = next(line for line in done.out.splitlines() if "torch.run: train.py: " in line)
    assert done.code == 1 and "OOMKilled" in told or "memory" in told, done
    print("#", told.strip())
    place.nothing_left("firesteel/torch", kinds=KINDS)


def test_a_silent_script_has_started(t):
    place = with_python(Place(t))
    done = play(place, "import time\ntime.sleep(25)\nprint('loss=0.5')\n", f"""
-- %% Silent timeout="2m"
print("loss", torch.run({{ "train.py", nodes = 2, start_timeout = "15s", on = k8s.jobs {{ {ON} }} }}).metrics.loss)
""")
    assert done.code == 0 and "loss\t0.5" in done.out, done
    place.nothing_left("firesteel/torch", kinds=KINDS)


def test_what_is_done_is_not_done_again(t):
    place = with_python(Place(t))
    cells = f"""
-- %% Train
print("host", torch.run({{ "train.py", on = k8s.jobs {{ {ON} }} }}).output:match "torch%-%x+%-node%-0")
-- %% Second
if not io.open "go" then error "not yet" end
"""
    first = play(place, "import socket\nprint(socket.gethostname())\n", cells)
    assert first.code == 1 and "host\ttorch-" in first.out, first
    with open(f"{place.dir}/go", "w", encoding="utf-8"):
        pass
    host = next(line for line in first.out.splitlines() if "host\t" in line)
    again = tap.sh(tap.FIRESTEEL, "run", "--resume", "last", "notebook.lua", "--allow", "cluster", cwd=place.dir, env=place.env)
    assert again.code == 0 and host in again.out, (first, again)


def test_an_image_without_python_is_told(t):
    place = Place(t)
    done = play(place, "print(1)\n", f"""
-- %% No Python
torch.run {{ "train.py", on = k8s.jobs {{ image = "{BUSYBOX}", cpu = "50m", pull_policy = "Never" }}, start_timeout = "60s" }}
""")
    assert done.code == 1 and "python3" in done.out + done.err, done
    place.nothing_left("firesteel/torch", kinds=KINDS)
