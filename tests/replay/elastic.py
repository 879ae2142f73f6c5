#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hvd.elastic: ranks are killed, training goes on from the last commit; newcomers join; what cannot go on says why."""
import os
import random
import re
import signal
import subprocess
import threading
import time

from tap import BUILD, PATIENCE, Skip, eventually, run, sh
from worker import PLUGIN, WORKER, driver_env, free_port, need_mpi, script, start_executors

# Steps of one's own on data that all ranks can make: a commit after each step, and the digest of the weights.
STEPS = """
local hvd, nn, data = require "hvd", require "nn", require "data"
local args = require "args" { steps = 40, np = 3, min_np = 1, max_np = 3, cooldown = 0.0, reset_limit = -1, timeout = 20.0, pause = 0.0, die = "" }
local function train(args)
  hvd.init()
  local function rows(step, rank)
    local x, y = {}, {}
    for i = 1, 8 do
      local n = step * 100 + rank * 10 + i
      x[i], y[i] = { math.sin(n), math.cos(3 * n), math.sin(0.1 * n * n) }, { math.sin(n) * math.cos(3 * n) }
    end
    return data.tensor(x), data.tensor(y)
  end
  local model = nn.Sequential { nn.Dense { 8, activation = "tanh", input_dim = 3 }, nn.Dense { 1 } }
  model:compile { optimizer = hvd.DistributedOptimizer(nn.Adam { 0.01 }), loss = "mse" }
  local state = hvd.elastic.State { model = model, step = 0, sizes = {} }
  state:register_reset_callbacks { function() if hvd.rank() == 0 then print("reset " .. state.step) end end }
  return hvd.elastic.run(function(state, args)
    print(("begin %d of %d at %d"):format(hvd.rank(), hvd.size(), state.step))
    while state.step < args.steps do
      if args.die == "each" and hvd.rank() == 1 and state.step == 3 then os.execute "kill -9 $PPID" end
      if args.die == "start" and hvd.rank() == 1 then os.execute "kill -9 $PPID" end
      if args.die == "error" and hvd.rank() == 1 and state.step == 3 then error "this is wrong" end
      if args.die == "exit" and hvd.rank() == 1 and state.step == 3 then os.exit(7) end
      if args.die == "once" and hvd.rank() == 1 and hvd.size() == args.np and state.step == 3 then os.execute "kill -9 $PPID" end
      model:train_on_batch(rows(state.step, hvd.rank()))
      state.step = state.step + 1
      state.sizes[#state.sizes + 1] = hvd.size()
      state:commit()
      if hvd.rank() == 0 then print("committed " .. state.step) end
      if args.pause > 0 then os.execute("sleep " .. args.pause) end
    end
    local sum = 0
    for i, w in ipairs(model:get_weights()) do sum = sum + i * w:sum() end
    return sum, table.concat(state.sizes, " ")
  end)(state, args)
end
local t = { np = args.np, min_np = args.min_np, max_np = args.max_np, args = { args }, elastic_timeout = args.timeout, cooldown_range = { args.cooldown, args.cooldown } }
if args.reset_limit >= 0 then t.reset_limit = args.reset_limit end
local results = hvd.run(train, t)
for rank = 0, #results - 1 do print(("result %.17g sizes %s"):format(results:rank(rank))) end
"""


def results(out):
    return re.findall(r"^result (\S+) sizes (.*)$", out, re.M)


def commits_are_kept(out):
    """Nobody begins before a step whose commit had returned. Lines of one rank come in order, those of two ranks do not."""
    done, begun = 0, set()
    for word, number in re.findall(r"(committed|begin 0 of \d+ at) (\d+)$", out, re.M):
        if word == "committed":
            done = int(number)
        else:
            assert int(number) >= done, out
            begun.add(number)
    assert begun >= set(re.findall(r"begin \d+ of \d+ at (\d+)$", out, re.M)), out
    return done


def children(pid):
    found = []
    for p in os.listdir("/proc"):
        if p.isdigit():
            try:
                with open(f"/proc/{p}/stat", encoding="utf-8") as f:
                    stat = f.read()
                with open(f"/proc/{p}/cmdline", encoding="utf-8") as f:
                    line = f.read()
            except OSError:
                continue
            if int(stat.rsplit(")", 1)[1].split()[1]) == pid and "--rank" in line:
                found.append(int(p))
    return found


def uninterrupted(t, *args):
    done = sh(WORKER, "trainer.lua", *args, cwd=script(t, STEPS), timeout=60)
    assert done.code == 0, done
    return results(done.out)


def test_without_losses_it_is_a_job_as_any(t):
    need_mpi()
    found = uninterrupted(t)
    assert len(found) == 3 and len(set(found)) == 1 and found[0][1] == " ".join(["3"] * 40), found


def test_killed_at_random_points_the_result_is_the_same(t):
    """Places do not rest, so as many ranks begin again: not one bit of the weights differs."""
    need_mpi()
    whole = uninterrupted(t, "--steps=60")
    seed = int(os.environ.get("FIRESTEEL_SEED", random.randrange(1 << 30)))
    print(f"# FIRESTEEL_SEED={seed}")
    chance, deaths = random.Random(seed), 0
    for _ in range(3):
        p = subprocess.Popen([WORKER, "trainer.lua", "--steps=60", "--pause=0.01"], cwd=script(t, STEPS), text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        t.after(lambda p=p: (p.kill(), p.wait()))

        def hunt(p=p):
            nonlocal deaths
            for _ in range(4):
                time.sleep(chance.uniform(0.05, 0.6))
                ranks = children(p.pid)
                if p.poll() is None and ranks:
                    try:
                        os.kill(chance.choice(ranks), signal.SIGKILL)
                        deaths += 1
                    except ProcessLookupError:
                        pass
        hunter = threading.Thread(target=hunt)
        hunter.start()
        out, err = p.communicate(timeout=120 * PATIENCE)
        hunter.join()
        # Ranks may be killed three times in a row before their first commit: that ends a job, and says so.
        if p.returncode == 1 and "in a row were lost before a commit" in err:
            continue
        assert p.returncode == 0, (out, err)
        assert results(out) == whole, (out, err)
        commits_are_kept(out)
    assert deaths > 3, deaths


def test_those_that_remain_go_on(t):
    need_mpi()
    done = sh(WORKER, "trainer.lua", "--die=once", "--cooldown=100", cwd=script(t, STEPS), timeout=60)
    assert done.code == 0, done
    assert ("firesteel-worker: rank 1 was ended by signal 9 (Killed) before it had a result; training goes on with 2 ranks from "
            "commit 3\n") in done.err, done
    found = results(done.out)
    assert len(found) == 2 and found[0] == found[1] and found[0][1] == " ".join(["3"] * 3 + ["2"] * 37), found
    assert "[1,0]<stdout>:reset 3" in done.out and commits_are_kept(done.out) == 40, done


def test_newcomers_join_at_a_commit(t):
    need_mpi()
    done = sh(WORKER, "trainer.lua", "--die=once", "--cooldown=0.3", "--pause=0.02", "--steps=60", cwd=script(t, STEPS), timeout=60)
    assert done.code == 0, done
    assert "firesteel-worker: newcomers join; training goes on with 3 ranks from commit" in done.err, done
    found = results(done.out)
    assert len(found) == 3 and re.fullmatch("3 3 3( 2)+( 3)+", found[0][1]), found
    assert commits_are_kept(done.out) == 60


def test_one_rank_may_remain(t):
    need_mpi()
    done = sh(WORKER, "trainer.lua", "--np=2", "--max_np=2", "--die=once", "--cooldown=100", cwd=script(t, STEPS), timeout=60)
    assert done.code == 0 and [s for _, s in results(done.out)] == [" ".join(["2"] * 3 + ["1"] * 37)], done


def test_too_few_ranks_say_why(t):
    need_mpi()
    done = sh(WORKER, "trainer.lua", "--die=once", "--min_np=3", "--cooldown=100", "--timeout=0.5", cwd=script(t, STEPS), timeout=60)
    assert done.code == 1, done
    assert ("elastic training needs 3 ranks (min_np), and 2 can run: no more came within 0.5 s (elastic_timeout), after rank 1 "
            "was ended by signal 9 (Killed)") in done.err, done


def test_the_reset_limit_ends_it(t):
    need_mpi()
    done = sh(WORKER, "trainer.lua", "--die=once", "--reset_limit=0", cwd=script(t, STEPS), timeout=60)
    assert done.code == 1 and "Reset count 1 has exceeded configured reset_limit 0: rank 1 was ended by signal 9" in done.err, done


def test_ranks_that_come_no_further_are_not_started_for_ever(t):
    need_mpi()
    for how in "start", "each":
        done = sh(WORKER, "trainer.lua", f"--die={how}", cwd=script(t, STEPS), timeout=60)
        assert done.code == 1 and "3 generations of ranks in a row were lost before a commit, the last because rank 1 was" in done.err, done


def test_an_error_of_the_trainer_is_no_loss(t):
    need_mpi()
    done = sh(WORKER, "trainer.lua", "--die=error", cwd=script(t, STEPS), timeout=60)
    assert done.code == 1 and "rank 1 failed: " in done.err and "this is wrong" in done.err, done
    assert "training goes on" not in done.err, done
    done = sh(WORKER, "trainer.lua", "--die=exit", cwd=script(t, STEPS), timeout=60)
    assert done.code == 7 and "training goes on" not in done.err, done


def test_executors_come_and_go(t):
    """Pods: one is lost, another one calls later and joins."""
    need_mpi()
    port = free_port()
    executors = start_executors(t, port, 3)
    p = subprocess.Popen([WORKER, "trainer.lua", "--steps=150", "--pause=0.02"], cwd=script(t, STEPS), text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=dict(os.environ, **driver_env(port, 3)))
    t.after(lambda: (p.kill(), p.wait()))
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(iter(p.stdout.readline, "")))
    reader.start()
    eventually(lambda: any("committed 5" in line for line in lines))
    executors[0].kill()  # it has rank 0, in general, which sends the commits
    eventually(lambda: any(" of 2 at" in line for line in lines), 30 * PATIENCE)
    executors += start_executors(t, port, 1)
    err = p.stderr.read()
    reader.join()
    assert p.wait(60 * PATIENCE) == 0, (lines, err)
    out = "".join(lines)
    assert "executor 127.0.0.1 was lost: its connection has ended" in err and "newcomers join" in err, err
    assert re.fullmatch("3( 3)+( 2)+( 3)+", results(out)[0][1]), out
    assert commits_are_kept(out) == 150
    assert [e.wait(10 * PATIENCE) for e in executors[1:]] == [0, 0, 0]


def test_a_state_that_is_not_elastic(t):
    """Without min_np commit and restore work in the rank itself."""
    done = sh(WORKER, "trainer.lua", cwd=script(t, """
local hvd, nn = require "hvd", require "nn"
print(hvd.run(function()
  hvd.init()
  local model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
  model:compile { optimizer = nn.SGD { 0.5 }, loss = "mse" }
  local state = hvd.elastic.State { model = model, optimizer = nn.SGD { 0.5 }, n = 1, list = { 1 } }
  return hvd.elastic.run(function(state)
    local before = model:get_weights()[1]:item()
    state.n, state.list[2], model.learning_rate = 2, 2, 0.25
    state:commit()
    state.n, model.learning_rate = 3, 1
    model:set_weights { require "data".tensor { { 7 } }, model:get_weights()[2] }
    state:restore()
    local ok, text = pcall(function() state.other = 1 end)
    return state.n, #state.list, model.learning_rate, model:get_weights()[1]:item() == before, text
  end)(state)
end, { np = 1 }):rank(0))
"""), timeout=60)
    assert done.code == 0, done
    assert done.out.startswith("2\t2\t0.25\ttrue\t"), done
    assert "'other' is no field of this state" in done.out, done


def test_mistakes_are_told(t):
    for text, words in {
        'hvd.run(print, { np = 2, min_np = 3 })': "min_np must be from 1 to np",
        'hvd.run(print, { np = 2, max_np = 1 })': "max_np must be from np to 4096",
        'hvd.run(print, { np = 2, min_np = 1, cooldown_range = 3 })': "cooldown_range must be { least, most } seconds",
        'hvd.elastic.State(3)': "expects a table of what is kept",
        'hvd.elastic.State { commit = 1 }': "'commit' is no name for a field",
        'hvd.elastic.run(3)': "expects a function of a state",
        'hvd.elastic.run(print)({})': "first argument is a state",
    }.items():
        done = sh(WORKER, "trainer.lua", cwd=script(t, f'local hvd = require "hvd" hvd.init() {text}'), timeout=30)
        assert done.code == 1 and words in done.err, (text, done)


if __name__ == "__main__":
    run(globals())
