#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""firesteel-worker as a user runs it: the trainer of the MNIST recipe, arguments, ranks, executors, ends."""
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time

from tap import BUILD, PATIENCE, SANITIZED, SOURCE, Skip, eventually, processes, run, sh, unplaced

WORKER = os.path.join(BUILD, "cli", "firesteel-worker")
APART = os.path.join(BUILD, "tests", "apart.so")
LATE = os.path.join(BUILD, "tests", "late.so")
DNN = os.path.join(BUILD, "trainer", "dnn", "firesteel-dnn.so")
PLUGIN = os.path.join(BUILD, "trainer", "dist", "firesteel-mpi.so")
RECIPE = os.path.join(SOURCE, "recipes", "10-mnist.lua")
NUMBER = r"[0-9.]+(e-[0-9]+)?"
EPOCH = (rf"/\d+ - \d+s - loss: {NUMBER} - accuracy: {NUMBER} - val_loss: {NUMBER} - "
         rf"val_accuracy: {NUMBER} - lr: {NUMBER}")


def trainer_of_recipe():
    """The body of the cell that is written to trainer.lua, as the notebook has it."""
    with open(RECIPE, encoding="utf-8") as f:
        cells = re.split(r"^-- %%", f.read(), flags=re.M)
    return next(c for c in cells if 'file="trainer.lua"' in c.split("\n")[0]).split("\n", 1)[1]


def script(t, text, name="trainer.lua"):
    folder = t.dir()
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)
    return folder


def work(folder, *args, **rest):
    return sh(WORKER, *args, cwd=folder, **rest)


def need_mpi():
    if not os.path.exists(PLUGIN):
        raise Skip("firesteel-mpi.so was not built (Debian: apt install libmpich-dev)")


def environment(more):
    """This process's environment with more variables; None: without that one."""
    return {k: v for k, v in dict(os.environ, **more).items() if v is not None}


# How ranks of one machine exchange values: by shared memory, or by MPI.
SHARED, MPI = {"HOROVOD_CPU_OPERATIONS": None}, {"HOROVOD_CPU_OPERATIONS": "MPI"}


def how_ranks_speak():
    return (SHARED, MPI) if os.path.exists(PLUGIN) else (SHARED,)


def value(name, text):
    return float(re.findall(rf"\b{name}: ({NUMBER})", text)[-1][0])


CONVOLUTIONS = """
local nn, data = require "nn", require "data"
local picture = {}
for i = 1, 12 do
  picture[i] = {}
  for j = 1, 12 do picture[i][j] = { math.sin(i * 12 + j) } end
end
local function net()
  return nn.Sequential {
    nn.Input { 12, 12, 1 }, nn.Conv2D { 32, 3, activation = "relu" }, nn.Conv2D { 32, 3 }, nn.GlobalAveragePooling2D {}, nn.Dense { 8 },
    seed = 1, dtype = arg[1],
  }
end
net()
local model = net()
model:compile { optimizer = "sgd", loss = "mse", threads = tonumber(arg[2] or 1), deterministic = true }
local x = data.tensor { picture }
model:train_on_batch(x, nn.ops.full({ 1, 8 }, 1))
local y = model:predict(x)
for i = 0, 7 do print(("%.9g"):format(y[0][i])) end
"""


def need_dnn():
    if not os.path.exists(DNN):
        raise Skip("firesteel-dnn.so was not built (Debian: apt install libdnnl-dev)")


def test_convolutions_without_onednn(t):
    need_dnn()
    folder, elsewhere = script(t, CONVOLUTIONS), t.dir()
    copy = shutil.copy(WORKER, elsewhere)
    by = work(folder, "trainer.lua")
    off = work(folder, "trainer.lua", env={"FIRESTEEL_DNN": "0"})
    assert by.code == off.code == 0 and by.err == off.err == "", (by, off)
    apart = max(abs(float(a) - float(b)) for a, b in zip(by.out.split(), off.out.split()))
    assert 0 < apart < 1e-5, (by, off)
    os.mkdir(os.path.join(elsewhere, "lib"))
    for what in ("absent", "damaged"):
        if what == "damaged":
            with open(os.path.join(elsewhere, "lib", "firesteel-dnn.so"), "w", encoding="utf-8") as f:
                f.write("no library")
        done = sh(copy, "trainer.lua", cwd=folder)
        assert done.code == 0 and done.out == off.out, (what, done, off)
        assert re.fullmatch(r"firesteel-worker: convolutions run by own kernels, which are slower: oneDNN \(apt install libdnnl2, in Debian 13 libdnnl3.6\) "
                            r"cannot be loaded: .*firesteel-dnn.so: .*\n", done.err), (what, done)


def test_threads_change_no_bit_of_convolutions(t):
    need_dnn()
    folder = script(t, CONVOLUTIONS)
    for kind in ("float32", "mixed_bfloat16"):
        said = {work(folder, "trainer.lua", kind, threads).out for threads in ("1", "2", "3")}
        assert len(said) == 1 and len(said.pop().split()) == 8, said


def test_bf16_where_it_cannot_be(t):
    need_dnn()
    folder = script(t, CONVOLUTIONS)
    plain = work(folder, "trainer.lua", env={"FIRESTEEL_DNN": "0"})
    without = work(folder, "trainer.lua", "mixed_bfloat16", env={"FIRESTEEL_DNN": "0"})
    told = "firesteel-worker: mixed_bfloat16 layers compute in float32: "
    assert without.code == 0 and without.err == told + "bf16 needs oneDNN\n" and without.out == plain.out, (without, plain)
    old = {"DNNL_MAX_CPU_ISA": "SSE41"}  # oneDNN's own: it takes the CPU for an older one
    plain, lacks = work(folder, "trainer.lua", env=old), work(folder, "trainer.lua", "mixed_bfloat16", env=old)
    assert lacks.code == 0 and lacks.err == told + "this CPU has no bf16 (AVX512_BF16 or AMX)\n" and lacks.out == plain.out, (lacks, plain)


def test_the_recipes_trainer(t):
    done = work(script(t, trainer_of_recipe()), "trainer.lua", "--epochs=1")
    assert done.code == 0, done
    lines = done.out.splitlines()
    assert lines[0] == "Expected prediction for index 100: 6", done
    assert lines[-1] == "Model prediction for index 100: 6", done
    assert any(re.fullmatch("938" + EPOCH, line) for line in lines), done
    assert any(re.fullmatch(rf"313/313 - \d+s - loss: {NUMBER} - accuracy: {NUMBER}", line) for line in lines), done
    assert value("val_accuracy", done.out) >= 0.945, done
    assert "[1,0]" not in done.out


def test_the_recipes_trainer_on_two_ranks(t):
    folder = script(t, trainer_of_recipe())
    done = work(folder, "--np", "2", "trainer.lua", "--epochs=1")
    assert done.code == 0, done
    assert re.search(r"^\[1,0\]<stdout>:469" + EPOCH + "$", done.out, re.M), done
    assert "[1,1]" not in done.out, done  # only rank 0 prints
    assert done.out.endswith("Model prediction for index 100: 6\n"), done
    assert os.path.exists(os.path.join(folder, "checkpoint.safetensors"))


SAME_STEPS = """
local hvd, nn, data = require "hvd", require "nn", require "data"
local function train(batch, seed)
  hvd.init()
  local mnist = data.mnist()
  local x, y = mnist.train.x:slice(0, 6400), mnist.train.y:slice(0, 6400)
  x, y = x:shard(hvd.rank(), hvd.size()), y:shard(hvd.rank(), hvd.size())
  local model = nn.Sequential {
    nn.Flatten { 28, 28 }, nn.Dense { 128, activation = "relu" }, nn.Dense { 10, activation = "softmax" },
    seed = seed and seed + hvd.rank() }
  model:compile { optimizer = hvd.DistributedOptimizer(nn.Adam()), loss = "sparse_categorical_crossentropy",
    threads = tonumber(os.getenv "THREADS") }
  model:fit { x, y, batch_size = batch, shuffle = false, verbose = 0,
    callbacks = seed and { hvd.BroadcastGlobalVariablesCallback(0) } }
  local sums = {}
  for _, w in ipairs(model:get_weights()) do
    for _, part in ipairs { w:sum(), w:max(), w:min() } do sums[#sums + 1] = part end
  end
  return sums, model:predict(mnist.test.x:slice(0, 50)):totable()
end
local np, seed = tonumber(arg[1]), tonumber(arg[2])
local results = hvd.run(train, { np = np, args = { 64 // np, seed } })
for rank = 0, np - 1 do
  local sums, rows = results:rank(rank)
  local all = {}
  for _, v in ipairs(sums) do all[#all + 1] = ("%.17g"):format(v) end
  for _, row in ipairs(rows) do for _, v in ipairs(row) do all[#all + 1] = ("%.17g"):format(v) end end
  print(table.concat(all, " "))
end
"""


def numbers(done):
    assert done.code == 0, done
    return [[float(v) for v in line.split()] for line in done.out.splitlines()]


def test_shared_memory_changes_no_bit(t):
    need_mpi()
    folder = script(t, SAME_STEPS)
    for np in "2", "3", "4":
        alike = [numbers(work(folder, "trainer.lua", np, env=env)) for env in (SHARED, MPI)]
        assert alike[0] == alike[1], np


SHARED_STATE = """
local hvd, nn, data = require "hvd", require "nn", require "data"
local function train(way, folder)
  hvd.init()
  local x, y = {}, {}
  for i = 1, 96 do x[i], y[i] = {i % 7 / 7, i % 5 / 5, i % 3 / 3}, {(i % 7 - i % 5) / 7} end
  x, y = data.tensor(x):shard(hvd.rank(), hvd.size()), data.tensor(y):shard(hvd.rank(), hvd.size())
  local model = nn.Sequential { nn.Input { 3 }, nn.Dense { 40, activation = "tanh" }, nn.Dense { 1 }, seed = 5 }
  local optimizer = way == "rmsprop" and nn.RMSprop { momentum = 0.5, centered = true } or nn.Adam { learning_rate = 0.01 }
  model:compile { optimizer = hvd.DistributedOptimizer(optimizer), loss = "mse",
    threads = way == "threads" and 2 or 1 }
  local name = ("%s/%s-%d-%d-%%s.safetensors"):format(folder, way, hvd.size(), hvd.rank())
  local function fit(epochs, callbacks)
    model:fit { x, y, batch_size = 96 // hvd.size() // 4, epochs = epochs, shuffle = false, verbose = 0, callbacks = callbacks }
  end
  local callbacks = { { on_epoch_end = function(_, epoch) model:save(name:format(epoch)) end } }
  if way == "batches" or way == "first" and hvd.rank() == 0 then
    callbacks = { { on_train_batch_end = function(_, batch) if batch == 2 then model:save(name:format "batch") end end } }
  elseif way == "horovod" then
    callbacks = { hvd.BroadcastGlobalVariablesCallback(0), hvd.LearningRateWarmupCallback { initial_lr = 0.02, warmup_epochs = 1 },
      callbacks[1] }
  elseif way == "ended" then
    local broken = { { on_epoch_end = function() error "enough" end } }
    print(select(2, pcall(fit, 1, broken)))
  end
  fit(2, callbacks)
  model:save(name:format "end")
end
hvd.run(train, { np = tonumber(arg[1]), args = { arg[2], arg[3] } })
"""


def test_ranks_share_the_optimizers_work(t):
    """Each rank of one machine updates a share of the weights; whenever somebody looks, its state is that of ranks that do all of it."""
    need_mpi()
    folder = script(t, SHARED_STATE)
    for way in "adam", "rmsprop", "threads", "batches", "first", "horovod", "ended":
        found = []
        for number, env in enumerate((SHARED, MPI)):
            out = os.path.join(folder, f"{way}-{number}")
            os.mkdir(out)
            for np in ("2", "3") if way in ("adam", "batches", "first", "horovod") else ("2",):
                done = work(folder, "trainer.lua", np, way, out, env=env)
                assert done.code == 0, done
            found.append({})
            for name in sorted(os.listdir(out)):
                with open(os.path.join(out, name), "rb") as f:
                    found[-1][name] = f.read()
        assert len(found[0]) >= 4 and all(b"optimizer/" in data for data in found[0].values()), found[0].keys()
        assert found[0] == found[1], (way, [n for n in found[0] if found[0][n] != found[1].get(n)])
        for name, data in found[0].items():  # all ranks have the same
            assert data == found[0].get(re.sub(r"-(\d)-\d-", r"-\1-0-", name), data), name


def test_a_share_of_the_optimizers_state_is_not_saved(t):
    folder = script(t, """
local hvd, nn, data = require "hvd", require "nn", require "data"
local function train()
  hvd.init()
  local x, y, bad = {}, {}, {}
  for i = 1, 8 do x[i], y[i], bad[i] = {i / 8, 1}, {i / 4}, {i == 8 and 0 / 0 or i / 4} end
  x, y, bad = data.tensor(x), data.tensor(y), data.tensor(bad)
  local model = nn.Sequential { nn.Input { 2 }, nn.Dense { 1 }, seed = 5 }
  model:compile { optimizer = hvd.DistributedOptimizer(nn.Adam()), loss = function(y, p) return (y - p):square():mean() end }
  local fit = function(y) model:fit { x, y, batch_size = 2, shuffle = false, verbose = 0 } end
  print("fit", pcall(fit, bad))
  print("save", pcall(model.save, model, "all.safetensors"))
  print("weights", pcall(model.save, model, "weights.safetensors", { include_optimizer = false }))
  hvd.broadcast_model(model, 0)
  print("then", pcall(model.save, model, "then.safetensors"))
end
hvd.run(train, { np = 2 })
""")
    done = work(folder, "trainer.lua")
    assert done.code == 0, done
    for rank in "01":
        lines = [line.split(">:", 1)[1] for line in done.out.splitlines() if line.startswith(f"[1,{rank}]<stdout>")]
        assert lines[0].startswith("fit\tfalse\t") and "nan" in lines[0], done
        assert lines[1].startswith("save\tfalse\t") and "each rank has a share of the optimizer's state" in lines[1], done
        assert lines[2:] == ["weights\ttrue", "then\ttrue"] or [line.split("\t")[1] for line in lines[2:]] == ["true", "true"], done


def lonely(t, **env):
    """A worker without the plug-in for MPI, and how it fares with two ranks."""
    folder = script(t, RANKS)
    shutil.copy(WORKER, folder)
    return sh(os.path.join(folder, "firesteel-worker"), "trainer.lua", "ok", "2", cwd=folder, env=env)


def test_ranks_of_one_machine_need_no_mpi(t):
    done = lonely(t)
    assert done.code == 0 and "[1,1]<stdout>:rank 1" in done.out, done
    done = lonely(t, **MPI)
    assert done.code == 1 and "ranks that do not share memory need MPI (Debian: apt install libmpich12; a bundle: its archive -mpi)" in done.err, done


def test_ranks_that_cannot_share_memory_use_mpi(t):
    need_mpi()
    if SANITIZED:
        raise Skip("the sanitizer does not let a library be preloaded")
    folder = script(t, RANKS)
    for apart, why in (("driver", "memory for 3 ranks: Function not implemented"),
                       ("0", "rank 0: cannot map 24 MiB of shared memory: Cannot allocate memory (the system has no more)"),
                       ("2", "rank 2: cannot map 24 MiB of shared memory: Cannot allocate memory (the system has no more)")):
        done = work(folder, "trainer.lua", "ok", "3", env={"LD_PRELOAD": APART, "APART": apart})
        assert done.code == 0 and sorted(done.out.splitlines()[:-1]) == [f"[1,{r}]<stdout>:rank {r}" for r in range(3)], done
        assert done.err == f"firesteel-worker: the ranks cannot share memory, so they use MPI: {why}\n", done


def test_a_limit_of_files_ends_nothing_without_a_word(t):
    folder = script(t, RANKS)
    done = sh("bash", "-c", f"ulimit -f 1024; exec {WORKER} trainer.lua ok 2", cwd=folder)
    # MPI may have files of its own, which are too large, too.
    assert done.code in (0, 1) and done.err.startswith(
        "firesteel-worker: the ranks cannot share memory, so they use MPI: memory for 2 ranks takes 16 MiB, more than ulimit -f allows\n"), done
    done = sh("bash", "-c", f"ulimit -f 32768; exec {WORKER} trainer.lua ok 2", cwd=folder)
    assert done.code == 0 and done.err == "" and "[1,1]<stdout>:rank 1" in done.out, done


def test_two_ranks_of_32_train_as_one_of_64(t):
    folder = script(t, SAME_STEPS)
    one, two = numbers(work(folder, "trainer.lua", "1")), numbers(work(folder, "trainer.lua", "2"))
    assert two[0] == two[1], "the ranks differ"
    predictions = slice(12, None)
    worst = max(abs(a - b) for a, b in zip(one[0][predictions], two[0][predictions]))
    assert worst <= 1e-5, worst


def test_threads_change_no_bit(t):
    folder = script(t, SAME_STEPS)
    outs = {work(folder, "trainer.lua", "1", env={"THREADS": n}).out for n in ("1", "2", "3")}
    assert len(outs) == 1 and "" not in outs


LOOPS = """
local hvd, nn, data = require "hvd", require "nn", require "data"
local function train(how)
  hvd.init()
  local rank, size = hvd.rank(), hvd.size()
  local mnist = data.mnist()
  local x, y = mnist.train.x:slice(0, 192):shard(rank, size), mnist.train.y:slice(0, 192):shard(rank, size)
  local model = nn.Sequential { nn.Flatten { 28, 28 }, nn.Dense { 70, activation = "relu" }, nn.Dense { 10, activation = "softmax" }, seed = 4 }
  local adam = nn.Adam { 0.01 }
  local optimizer = how == "by hand" and adam or hvd.DistributedOptimizer(adam)
  model:compile { optimizer = optimizer, loss = "sparse_categorical_crossentropy" }
  local batch = 48 // size
  if how == "fit" then model:fit { x, y, batch_size = batch, shuffle = false, verbose = 0 } end
  for from = 0, how == "fit" and -1 or #x - 1, batch do
    local bx, by = x:slice(from, from + batch), y:slice(from, from + batch)
    if how == "by hand" then
      local _, gradients = model:gradients(bx, by)
      optimizer:apply(model, hvd.allreduce(gradients))
    elseif how == "accumulated" then
      local half, _, first, second = batch // 2
      _, first = model:gradients(bx:slice(0, half), by:slice(0, half))
      _, second = model:gradients(bx:slice(half), by:slice(half))
      for i = 1, #first do first[i] = (first[i] + second[i]) / 2 end
      optimizer:apply(model, first) -- averages over the ranks, as it is distributed
    else
      model:train_on_batch(bx, by)
    end
  end
  return model:get_weights()
end
local np = tonumber(arg[1])
local want = hvd.run(train, { np = np, args = { "fit" } })
for _, how in ipairs { "by hand", "train_on_batch", "accumulated" } do
  local got = hvd.run(train, { np = np, args = { how } })
  local bits, worst = true, 0
  for rank = 1, np do
    for i, w in ipairs(got[rank]) do
      bits = bits and w == want[rank][i] and w == got[1][i]
      worst = math.max(worst, (w - want[1][i]):abs():max())
    end
  end
  print(how, bits, ("%.17g"):format(worst))
end
"""


def test_a_loop_of_ones_own_trains_as_fit_does(t):
    folder = script(t, LOOPS)
    for np in (1, 2, 3, 4):
        done = work(folder, "trainer.lua", str(np))
        assert done.code == 0, done
        by_hand, on_batch, accumulated = (line.split("\t") for line in done.out.splitlines())
        assert by_hand == ["by hand", "true", "0"] and on_batch == ["train_on_batch", "true", "0"], (np, done.out)
        assert 0 < float(accumulated[2]) <= 1e-4, (np, done.out)  # other sums: Adam magnifies the last digits at first


FOLLOWED = """
local hvd, nn, data = require "hvd", require "nn", require "data"
local function train()
  hvd.init()
  local id, y = {}, {}
  for i = 1, 96 do id[i], y[i] = { i * i * 31 % 997, i }, { math.sin(i) } end
  local rank, size = hvd.rank(), hvd.size()
  id, y = data.tensor(id, { dtype = "i32" }):shard(rank, size), data.tensor(y):shard(rank, size)
  local input = nn.Input { 2 }
  local model = nn.Model { inputs = input, outputs = nn.Dense { 1 } (nn.Flatten {} (nn.Embedding { 997, 7 } (input))), seed = 9 }
  model:compile { optimizer = hvd.DistributedOptimizer(nn.SGD { 0.5 }), loss = "mse" }
  model:fit { id, y, batch_size = 24 // size, epochs = 2, shuffle = false, verbose = 0 }
  return model:get_weights()
end
local one, np = hvd.run(train, { np = 1 })[1], tonumber(arg[1])
local results, worst, same = hvd.run(train, { np = np }), 0, true
for rank = 1, np do
  for i, w in ipairs(one) do
    worst = math.max(worst, (results[rank][i] - w):abs():max())
    same = same and results[rank][i] == results[1][i]
  end
end
print(same, ("%.17g"):format(worst))
"""


def test_a_table_follows_the_rows_of_all_ranks(t):
    folder = script(t, FOLLOWED)
    for np in (2, 3):
        done = work(folder, "trainer.lua", str(np))
        same, worst = done.out.split()
        assert same == "true" and float(worst) < 1e-6, (np, done)


LISTS = """
local hvd, data = require "hvd", require "data"
local function work(case)
  hvd.init()
  local rank = hvd.rank()
  local function t(...) return data.tensor { ... } end
  if case == "sum" then
    local ids = data.tensor({ 1 << 40, rank }, { dtype = "i64" })
    local got = hvd.allreduce({ t(rank, 1), ids, data.tensor { { rank * 10 } }, names = { "a", "ids", "b" } }, { op = hvd.Sum, name = "mixed" })
    return tostring(got[1]), got[2][0], got[2].dtype, got[3][0][0], got.names[3]
  elseif case == "average" then
    return hvd.allreduce({ t(rank), t(4) })[1][0], #hvd.allreduce {}
  elseif case == "shapes" then
    hvd.allreduce { t(1, 2, 3), rank == 0 and data.tensor { { 1, 2 } } or t(1, 2) }
  elseif case == "integers" then
    hvd.allreduce { t(1), data.tensor({ 1 }, { dtype = "i64" }) }
  elseif case == "join" then
    local sum = 0
    for step = 1, rank + 1 do sum = sum + hvd.allreduce({ t(1), t(2) }, { op = hvd.Sum })[2][0] end
    return sum, hvd.join()
  end
end
local results = hvd.run(work, { np = 2, args = { arg[1] } })
for rank = 0, 1 do print(results:rank(rank)) end
"""


def test_allreduce_takes_lists(t):
    folder = script(t, LISTS)

    def said(case):
        return work(folder, "trainer.lua", case)

    assert said("sum").out == "[1, 2]\t2199023255552\ti64\t10.0\tb\n" * 2, said("sum")
    assert said("average").out == "0.5\t0\n" * 2, said("average")
    assert said("join").out == "4.0\t1\n6.0\t1\n", said("join")
    done = said("shapes")
    assert done.code == 1 and "Mismatched ALLREDUCE lists: One rank sent 2 tensors of 5 numbers" in done.err, done
    done = said("integers")
    assert done.code == 1 and "item 2: integers have no average: use op = hvd.Sum" in done.err, done


NILS = """
local hvd = require "hvd"
local function last(a, b, c, ...) return tostring(b) .. " " .. tostring(c) .. " " .. select("#", ...) end
for np = 1, 2 do
  for _, args in ipairs { { 1, nil, 3 }, { [3] = 3 }, { n = 4, 1, nil, 3 } } do print(hvd.run(last, { np = np, args = args })[np]) end
  for _, args in ipairs { { a = 5 }, { [0] = 5 }, { [1 << 40] = 5 } } do print(select(2, pcall(hvd.run, last, { np = np, args = args }))) end
end
"""


def test_arguments_behind_a_nil_travel(t):
    done = work(script(t, NILS), "trainer.lua")
    assert (done.code, unplaced(done.out)) == (0, (
        "nil 3 0\nnil 3 0\nnil 3 1\nhvd.run: args is a list of arguments, so it cannot have the key 'a'\n"
        "hvd.run: args is a list of arguments, so it cannot have the key '0'\n"
        "hvd.run: args has n = 1099511627776, which is no number of arguments\n") * 2), done


NUMBERS = """
local hvd, data = require "hvd", require "data"
local results = hvd.run(function()
  hvd.init()
  local rank, out = hvd.rank(), {}
  local function reduce(of, op) out[#out + 1] = tostring(hvd.allreduce(of[rank + 1], { op = op })) end
  reduce({ 0, 0.75 }, hvd.Sum)
  reduce({ 2, 3 }, hvd.Sum)
  reduce({ (1 << 60) + 1, 2 }, hvd.Sum)
  reduce({ (1 << 60) + 1, 1 << 60 }, hvd.Max)
  reduce({ 2, 3 }, hvd.Average)
  for _, op in ipairs { hvd.Max, hvd.Min } do
    reduce({ 1.5, 0 / 0 }, op)
    reduce({ 0 / 0, 1.5 }, op)
    local t = hvd.allreduce(data.tensor { rank, rank == 0 and 0 / 0 or 1, rank == 1 and 0 / 0 or 1 }, { op = op })
    out[#out + 1] = t[0] .. t[1] .. t[2]
  end
  if rank == 0 then out[#out + 1] = hvd.allreduce(7, { op = hvd.Sum }) end
  hvd.join()
  return table.concat(out, " "):gsub("-nan", "nan")
end, { np = 2 })
print((results[1]))
print((results[2]))
"""


def test_numbers_are_the_same_on_every_rank(t):
    folder = script(t, NUMBERS)
    same = f"0.75 5 {(1 << 60) + 3} {(1 << 60) + 1} 2.5 nan nan 1.0nannan nan nan 0.0nannan"
    for env in how_ranks_speak():
        done = work(folder, "trainer.lua", env=environment(env))
        assert done.out == f"{same} 7\n{same}\n", (env, done)


def test_broadcast_makes_ranks_equal(t):
    two = numbers(work(script(t, SAME_STEPS), "trainer.lua", "2", "5"))
    assert two[0] == two[1]


ARGS = """
local args = require "args" { learning_rate = 0.001, batch_size = 64, name = "x", quiet = false }
print(args.learning_rate, args.batch_size, args.name, args.quiet)
"""


def test_arguments(t):
    folder = script(t, ARGS)
    for given, out in (((), "0.001\t64\tx\tfalse"),
                       (("--learning-rate=1", "--batch_size", "32", "--name=a=b", "--quiet"),
                        "1.0\t32\ta=b\ttrue"),
                       (("--learning_rate", "5e-3", "--no-quiet"), "0.005\t64\tx\tfalse")):
        done = work(folder, "trainer.lua", *given)
        assert (done.code, done.out) == (0, out + "\n"), done


def test_wrong_arguments(t):
    folder = script(t, ARGS)
    for given, why in ((("--batch_size=x",), "option --batch-size: 'x' is not an integer"),
                       (("--batch-size=1.5",), "'1.5' is not an integer"),
                       (("--epoch=1",), "unknown option --epoch; known are --batch-size, --learning-rate, --name, --quiet, --help"),
                       (("--name",), "option --name needs a value"),
                       (("1",), "unexpected argument '1'")):
        done = work(folder, "trainer.lua", *given)
        assert done.code == 2 and why in done.err and not done.out, done


def test_started_by_spark_it_says_what_is_missing(t):
    folder = script(t, "print(arg and #arg or 0)")
    for role, args in {"driver": ("driver", "--properties-file", "/opt/spark/conf/spark.properties", "--class",
                                  "org.apache.spark.deploy.PythonRunner", "local:///opt/firesteel/spark.py"),
                       "executor": ("executor",)}.items():
        done = work(folder, *args)
        assert done.code == 2 and f"as its {role}" in done.err and "has no Spark in it" in done.err, done
        assert 'image.build { from = "apache/spark:3.5.7"' in done.err, done
    shutil.move(os.path.join(folder, "trainer.lua"), os.path.join(folder, "driver"))
    done = work(folder, "driver", "--epochs=1")
    assert done.code == 0, done  # a trainer of that name


def test_help(t):
    done = work(script(t, ARGS), "trainer.lua", "--help")
    assert done.code == 0 and "--learning-rate=VALUE" in done.out and "default 0.001" in done.out, done
    assert sh(WORKER, "--help").out.startswith("usage: firesteel-worker")
    assert sh(WORKER, "--version").out.startswith("firesteel-worker ")
    assert sh(WORKER).code == 2 and sh(WORKER, "--nope", "x.lua").code == 2


def test_errors_have_place_and_traceback(t):
    done = work(script(t, "local function f()\n  error 'boom'\nend\nf()\n"), "trainer.lua")
    assert done.code == 1, done
    assert "trainer.lua:2: boom" in done.err and "trainer.lua:4: in main chunk" in done.err, done
    done = work(script(t, "local x = = 1\n"), "trainer.lua")
    assert done.code == 1 and "trainer.lua:1: unexpected symbol" in done.err, done
    done = work(t.dir(), "missing.lua")
    assert done.code == 1 and "missing.lua" in done.err, done


KNOWN = """
local core, hvd = { place = 0, everything = function() end, library = function() return _G end }, require "hvd"
for _, file in ipairs(arg) do assert(loadfile(file))(core) end
local problems = {}
local function say(...) problems[#problems + 1] = (...):format(select(2, ...)) end
local function compare(what, told, real)
  for name in pairs(told) do if rawget(real, name) == nil then say("%s.%s is told, but is not there", what, name) end end
  for name, value in pairs(real) do
    if told[name] == nil and value ~= hvd.Results then
      say("%s.%s is there, but is not told", what, name)
    end
  end
end
-- What an object says it knows when it is given an option that nobody knows.
local function known(call)
  local ok, why = pcall(call)
  local list = not ok and tostring(why):match "known are:? ([%w_, ]+)"
  return list
end
local function options(what, fn, call)
  local list, told = known(call), {}
  if not fn then return end -- said already
  local signature = core.entry_of(fn).signature
  if not list then return say("%s says no options", what) end
  for name in list:gmatch "[%w_]+" do
    told[name] = true
    if not signature:find("%f[%w_]" .. name .. "%f[^%w_]") then say("%s: option %s is not told", what, name) end
  end
  for name in pairs(core.options_of(fn)) do if not told[name] then say("%s: no option %s", what, name) end end
end
for name, told in pairs(core.trainer().modules) do
  if name ~= "args" then compare(name, told, require(name)) end
end
local nn, data, told = require "nn", require "data", core.trainer().modules
for name, fn in pairs(told.nn) do -- classes: what is declared of each is what it takes
  if name:find "^%u" and name ~= "Sequential" and next(core.options_of(fn)) then
    options("nn." .. name, fn, function() nn[name] { zzz = 1 } end)
  end
end
options("nn.Sequential", told.nn.Sequential, function() nn.Sequential { nn.Dense { 1 }, zzz = 1 } end)
options("data.csv", told.data.csv, function() data.csv { zzz = 1 } end)
options("data.parquet", told.data.parquet, function() data.parquet { "x", zzz = 1 } end)
options("data.images", told.data.images, function() data.images { "x", zzz = 1 } end)
options("data.mnist", told.data.mnist, function() data.mnist { zzz = 1 } end)
options("warm-up", told.hvd.LearningRateWarmupCallback, function() hvd.LearningRateWarmupCallback { initial_lr = 1, zzz = 1 } end)
local model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }
local x = data.tensor { { 1.0 } }
for _, method in ipairs { "compile", "fit", "evaluate" } do
  options("model:" .. method, core.trainer().types.model[method], function()
    model[method](model, method == "compile" and { zzz = 1 } or { x, x, zzz = 1 })
  end)
end
model:compile { loss = "mse" }
for name in pairs(core.trainer().types.model) do
  if not pcall(function() assert(model[name] ~= nil) end) then say("a model has no %s", name) end
end
for name in pairs(core.trainer().types.tensor) do
  if not pcall(function() assert(x[name] ~= nil) end) then say("a tensor has no %s", name) end
end
local frame = data.frame { { "a", data.tensor { 1 } } }
for name in pairs(core.trainer().types.frame) do
  if not pcall(function() assert(frame[name] ~= nil) end) then say("a frame has no %s", name) end
end
table.sort(problems)
print(#problems == 0 and "nothing is missing" or table.concat(problems, "\\n"))
"""


SUMMARIES = """
local nn = require "nn"
nn.Sequential { nn.Flatten { 28, 28 }, nn.Dense { 128, activation = "relu" }, nn.Dropout { 0.2 }, nn.Dense { 10 } }:summary()
local function unit(x, filters, size, strides, f)
  x = nn.BatchNormalization {} (nn.Conv2D { filters, size, strides = strides, padding = "same", use_bias = false } (x))
  return f and nn.Activation { f } (x) or x
end
local input = nn.Input { 224, 224, 3 }
local x = nn.MaxPooling2D { 3, strides = 2, padding = "same" } (unit(input, 64, 7, 2, "relu"))
for stage, blocks in ipairs { 3, 4, 6, 3 } do
  for block = 1, blocks do
    local filters, strides = 64 << (stage - 1), block == 1 and stage > 1 and 2 or 1
    local short = block == 1 and unit(x, 4 * filters, 1, strides) or x
    x = unit(unit(unit(x, filters, 1, 1, "relu"), filters, 3, strides, "relu"), 4 * filters, 1, 1)
    x = nn.Activation { "relu" } (nn.Add {} { x, short })
  end
end
nn.Model { inputs = input, outputs = nn.Dense { 1000 } (nn.GlobalAveragePooling2D {} (x)) }:summary()
nn.Sequential { nn.Dense { 4, input_dim = 3, trainable = false }, nn.BatchNormalization {}, nn.Dense { 1 } }:summary()
nn.Sequential { nn.Input { 8, 8, 16 }, nn.SeparableConv2D { 32, 3, depth_multiplier = 2 }, nn.GlobalMaxPooling2D { keepdims = true } }:summary()
"""
TABLE = """\
Model: "sequential"
┏━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━┳━━━━━━━━━┳━━━━━━━━━┓
┃ Layer (type)      ┃ Output Shape ┃ Param # ┃   FLOPs ┃
┡━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━┩
│ flatten (Flatten) │ (None, 784)  │       0 │       0 │
├───────────────────┼──────────────┼─────────┼─────────┤
│ dense (Dense)     │ (None, 128)  │ 100,480 │ 200,704 │
├───────────────────┼──────────────┼─────────┼─────────┤
│ dropout (Dropout) │ (None, 128)  │       0 │       0 │
├───────────────────┼──────────────┼─────────┼─────────┤
│ dense_1 (Dense)   │ (None, 10)   │   1,290 │   2,560 │
└───────────────────┴──────────────┴─────────┴─────────┘
 Total params: 101,770 (397.54 KB)
 Trainable params: 101,770 (397.54 KB)
 Non-trainable params: 0 (0.00 B)
 FLOPs of a row, forward: 203,264
"""


def test_a_summary_has_parameters_and_flops(t):
    done = work(script(t, SUMMARIES), "trainer.lua")
    assert done.out.startswith(TABLE), done.out[:2000]
    assert re.search(r"separable_conv2d \(SeparableConv2D\) +│ \(None, 6, 6, 32\) │ +1,344 │ +94,464 │", done.out), done.out[-2000:]
    assert "│ (None, 1, 1, 32) │" in done.out, done.out[-2000:]
    # ResNet-50: torchvision's 25,557,032 weights, and the 4,089,184,256 multiply-adds that fvcore counts.
    assert " Trainable params: 25,557,032 (97.49 MB)\n" in done.out, done.out[-400:]
    assert f" FLOPs of a row, forward: {2 * 4_089_184_256:,}\n" in done.out, done.out[-400:]
    # What is frozen, and statistics: 16 and 8.
    assert " Trainable params: 13 (52.00 B)\n Non-trainable params: 24 (96.00 B)\n" in done.out, done.out[-400:]


MORE_SUMMARIES = """
local nn = require "nn"
local store, rest = nn.Input { 1, name = "store" }, nn.Input { 6, name = "rest" }
local many = { nn.Flatten {} (nn.Embedding { 1115, 10, name = "embed" } (store)), rest }
for i = 3, 9 do many[i] = nn.Dense { 4, name = "branch_" .. i } (rest) end
local h = nn.Dense { 128, trainable = false } (nn.Concatenate {} (many))
local model = nn.Model { inputs = { store, rest }, outputs = nn.Dense { 1 } (h), name = "sales" }
model:summary()
model:compile { loss = "mse", optimizer = nn.Adam {} }
model:fit { { nn.ops.zeros { 4, 1 }, nn.ops.zeros { 4, 6 } }, nn.ops.zeros { 4, 1 }, verbose = 0 }
model:save "sales.safetensors"
nn.load "sales.safetensors":summary()
nn.Sequential { nn.Dense { 3 } }:summary()
print(model.name, nn.load "sales.safetensors".name, nn.Sequential { nn.Dense { 3 } }.name, nn.Model { inputs = rest, outputs = nn.Dense { 1 } (rest) }.name)
"""


def test_a_summary_is_as_wide_as_keras_s_and_has_the_optimizer_s_numbers(t):
    done = work(script(t, MORE_SUMMARIES), "trainer.lua")
    lines = done.out.splitlines()
    assert 60 < max(map(len, lines)) <= 76, done.out
    assert [line for line in lines if "Model:" in line] == ['Model: "sales"', 'Model: "sales"', 'Model: "sequential"'], done.out
    assert lines[-1] == "sales\tsales\tsequential\tfunctional", done.out
    # Long cells go on in the next line, whole.
    assert re.search(r"│ concatenate +│ \(None, 44\).*\n│ \(Concatenate\) +│ +│", done.out), done.out
    assert len(re.findall(r"branch_\d,? ", done.out)) == 2 * 2 * 7, done.out
    # Adam's two for each of the 11,584 that are trained, the number of its step and the rate: Keras 3.15 tells the same.
    trained = 11150 + 7 * 28 + 129
    assert f" Total params: {trained + 5760:,} (" in done.out, done.out
    assert f" Total params: {trained + 5760 + 2 * trained + 2:,} (" in done.out, done.out
    assert f" Optimizer params: {2 * trained + 2:,} (" in done.out, done.out
    assert "│ dense (Dense) │ ?            │ 0 (unbuilt) │     0 │\n" in done.out, done.out


def test_what_completion_tells_of_the_modules_is_what_they_have(t):
    lib = os.path.join(SOURCE, "script", "api")
    told = [os.path.join(lib, "core", "api.lua"), os.path.join(BUILD, "trainer", "workerwords.lua"), os.path.join(lib, "trainer", "workerclasses.lua"),
            os.path.join(lib, "trainer", "workerapi.lua")]
    done = work(script(t, KNOWN), "trainer.lua", *told)
    assert done.out == "nothing is missing\n", done


TABLES = """
local nn, data, hvd = require "nn", require "data", require "hvd"
local function train(dense, optimizer)
  hvd.init()
  local ids, y = {}, {}
  for i = 1, 64 do ids[i], y[i] = { i * i * 31 % 5000, i // 5 }, { math.cos(i) } end
  local x, target = data.tensor(ids, { dtype = "i64" }):shard(hvd.rank(), hvd.size()), data.tensor(y):shard(hvd.rank(), hvd.size())
  local m = nn.Sequential { nn.Embedding { 5000, 8, input_shape = { 2 } }, nn.Flatten {}, nn.Dense { 1 }, seed = 2 }
  m:compile { optimizer = hvd.DistributedOptimizer(nn[optimizer] { 0.05 }, { sparse_as_dense = dense }), loss = "mse" }
  m:fit { x, target, batch_size = 16 // hvd.size(), epochs = 3, shuffle = false, verbose = 0 }
  local w = m:get_weights()
  return (w[1] * w[1]):sum(), w[1]:abs():sum(), w[3]:sum()
end
for _, optimizer in ipairs { "Adam", "LazyAdam", "SGD" } do
  local want = { hvd.run(train, { np = 1, args = { false, optimizer } }):rank(0) }
  for _, dense in ipairs { false, true } do
    local results = hvd.run(train, { np = 2, args = { dense, optimizer } })
    local a, b = { results:rank(0) }, { results:rank(1) }
    for i = 1, 3 do assert(a[i] == b[i] and math.abs(a[i] - want[i]) <= 1e-6 * math.max(1, math.abs(want[i])), optimizer) end
  end
end
print "the same"
"""


def test_tables_travel_by_rows_or_whole(t):
    done = work(script(t, TABLES), "trainer.lua")
    assert (done.code, done.out) == (0, "the same\n"), done


SYNCHRONIZED = """
local nn, data, hvd = require "nn", require "data", require "hvd"
local function train(synchronized, by_hand)
  hvd.init()
  local rank, size, x, y = hvd.rank(), hvd.size(), {}, {}
  for i = 1, 36 * 20 do x[i] = math.sin(0.3 + 0.7 * i) end
  for i = 1, 36 do y[i] = { math.cos(i) } end
  x, y = data.tensor(x):reshape { 36, 20 }:shard(rank, size), data.tensor(y):shard(rank, size)
  local m = nn.Sequential { nn.Dense { 8, input_dim = 20 }, nn.BatchNormalization { synchronized = synchronized }, nn.ReLU {},
    nn.Dense { 1 }, seed = 2 }
  local plain = by_hand == "plain"
  local optimizer, n = plain and nn.SGD { 0.2 } or hvd.DistributedOptimizer(nn.SGD { 0.2 }), 12 // size
  m:compile { optimizer = optimizer, loss = "mse" }
  if by_hand then
    local steps = plain and 3 or 3 - rank % 2 -- the second rank has joined in the last one, and has no rows there
    for i = 0, steps - 1 do
      local xs, ys, alone = x:slice(i * n, i * n + n), y:slice(i * n, i * n + n), size == 1 and not plain and i == 2
      if alone then xs, ys = xs:shard(0, 2), ys:shard(0, 2) end -- those of the rank that goes on
      local _, gradients = m:gradients(xs, ys)
      if plain then gradients = hvd.allreduce(gradients) end
      for k, g in ipairs(gradients) do gradients[k] = alone and g * 0.5 or g end -- the other's are zeros
      optimizer:apply(m, gradients)
    end
    hvd.join()
    if rank % 2 == 1 then return end
  else
    m:fit { x, y, batch_size = n, epochs = 2, shuffle = false, verbose = 0 }
  end
  local sums = {}
  for i, w in ipairs(m:get_weights()) do sums[i] = (w * w):sum() end
  return sums
end
local function near(a, b)
  for i = 1, #a do if math.abs(a[i] - b[i]) > 1e-5 * math.max(1, math.abs(a[i])) then return false end end
  return true
end
local want = hvd.run(train, { np = 1, args = { true } }):rank(0)
for np = 2, 3 do
  local result = hvd.run(train, { np = np, args = { true } })
  for rank = 0, np - 1 do assert(near(want, result:rank(rank)), "rank " .. rank .. " of " .. np) end
end
assert(not near(want, hvd.run(train, { np = 2, args = { false } }):rank(0)), "they are as others without it")
for _, by_hand in ipairs { true, "plain" } do
  want = hvd.run(train, { np = 1, args = { true, by_hand } }):rank(0)
  local have = hvd.run(train, { np = 2, args = { true, by_hand } }):rank(0)
  assert(#have == 8 and near(want, have), tostring(by_hand))
  local others = hvd.run(train, { np = 2, args = { false, by_hand } }):rank(0)
  assert(not near(want, others), tostring(by_hand) .. ": they are as others without it")
end
print "as one"
"""


def test_synchronized_statistics_make_ranks_train_as_one(t):
    done = work(script(t, SYNCHRONIZED), "trainer.lua")
    assert (done.code, done.out) == (0, "as one\n"), done


AT_THE_END = """
local nn, data = require "nn", require "data"
local layer, brought = nn.Dense { 3, input_dim = 4, name = "shared" }, nn.Dense { 3, input_dim = 4 }
local a = nn.Sequential { layer, seed = 1 }
LATE = setmetatable({}, { __gc = function()
  print("sum", a:get_weights()[1]:sum())
  print("new", #nn.Sequential { brought }:get_weights())
end })
nn.Sequential { brought }
local b = nn.Sequential { layer, seed = 2 }
b:set_weights { nn.ops.full({ 4, 3 }, 0.5), nn.ops.ones { 3 } }
print(collectgarbage "count" > 0)
"""


def test_finalizers_at_the_end_see_weights_as_they_are(t):
    # What a finalizer makes at the end of a program has none itself: Lua leaves it to the process's end.
    got = work(script(t, AT_THE_END), "trainer.lua", env={"ASAN_OPTIONS": "detect_leaks=0"})
    assert got.code == 0 and got.out.split() == ["true", "sum", "6.0", "new", "2"], got


CALLBACKS = """
local hvd, nn, data = require "hvd", require "nn", require "data"
for _, r in ipairs(hvd.run(function(often, rarely) return { often.on_train_batch_end ~= nil, rarely.on_train_batch_end ~= nil } end,
  { np = 2, args = { nn.ModelCheckpoint { "x", save_freq = 2 }, nn.ModelCheckpoint { "x" } } })) do print(r[1], r[2]) end
"""


def test_a_checkpoint_looks_at_batches_on_ranks_too(t):
    got = work(script(t, CALLBACKS), "trainer.lua")
    assert got.code == 0 and got.out.split() == ["true", "false"] * 2, got


def test_exit_codes_pass(t):
    for code, text in ((3, "os.exit(3)"), (0, "os.exit(true)"), (1, "os.exit(false)")):
        done = work(script(t, f"print 'last words' {text}"), "trainer.lua")
        assert (done.code, done.out) == (code, "last words\n"), done


RANKS = """
local hvd = require "hvd"
local mode, shared = arg[1], { n = 1 }
global = 1
local function inner() error("boom") end
local function work(a, b)
  if mode == "early" then hvd.rank() end
  hvd.init()
  if mode == "global" then return global end
  if mode == "ok" then
    print("rank " .. hvd.rank())
    return hvd.rank(), a, b, "bin\\0ary", shared
  end
  if hvd.rank() == 1 then
    if mode == "error" then inner() end
    if mode == "exit" then os.exit(3) end
    if mode == "kill" then os.execute("kill -9 $PPID") end
  end
  if mode == "loop" then print "looping" while true do end end
  if mode == "shape" then hvd.allreduce(require "data".tensor(hvd.rank() == 0 and {1} or {1, 2})) end
  hvd.barrier()
end
local results = hvd.run(work, { np = tonumber(arg[2] or 2), args = { "x", 7 } })
print(#results, results[1], results:rank(#results - 1))
"""


def test_random_numbers_are_the_same_in_each_run(t):
    """A run is made again to the same bits: math.random has a fixed seed, another one in each rank."""
    folder = script(t, 'local hvd = require "hvd"\nprint("here", math.random(1 << 30))\n'
                       "local r = hvd.run(function() hvd.init() return math.random(1 << 30) end, { np = 2 })\n"
                       "print(r[1], r[2])\nmath.randomseed(7)\nprint(math.random(1 << 30))\n")
    one, two = work(folder, "trainer.lua"), work(folder, "trainer.lua")
    assert one.code == 0 and one.out == two.out, (one, two)
    first, second = one.out.splitlines()[-2].split()
    assert first != second, one


def test_results_come_in_rank_order(t):
    folder = script(t, RANKS)
    for np in (2, 3):
        done = work(folder, "trainer.lua", "ok", str(np))
        assert done.code == 0, done
        assert done.out.splitlines()[-1].startswith(f"{np}\t0\t{np - 1}\tx\t7\tbin\0ary\ttable: "), done
        assert sorted(done.out.splitlines()[:-1]) == [f"[1,{r}]<stdout>:rank {r}" for r in range(np)], done


TOGETHER = """
local hvd, nn, data = require "hvd", require "nn", require "data"
local mode = arg[1]
local results = hvd.run(function()
  hvd.init()
  local rank = hvd.rank()
  local function train(rows, units, on_end, optimizer, norm, metric)
    local x, y = {}, {}
    for i = 1, rows do x[i], y[i] = { i % 3, i % 5 }, i % 2 end
    x, y = data.tensor(x):shard(rank, 2), data.tensor(y, { dtype = "i64" }):shard(rank, 2)
    local layers = { nn.Dense { units, activation = "relu", input_dim = 2 }, nn.Dense { 2, activation = "softmax" } }
    if norm then table.insert(layers, 2, norm) end
    local model = nn.Sequential(layers)
    model:compile { optimizer = optimizer or hvd.DistributedOptimizer(nn.Adam()), loss = "sparse_categorical_crossentropy", metrics = { own = metric } }
    model:fit { x, y, batch_size = 16, verbose = 0, callbacks = { nn.LambdaCallback { on_train_batch_end = on_end },
      metric and hvd.LearningRateWarmupCallback { initial_lr = 0.001 } } } -- which never ends a training, so ranks need not agree
  end
  if mode == "steps" then train(65, 8) end
  if mode == "statistics" then train(65, 8, nil, nn.Adam(), nn.BatchNormalization { synchronized = true }) end
  if mode == "models" then train(64, 8 + rank) end
  local function sgd(options) return hvd.DistributedOptimizer(nn.SGD(options)) end
  if mode == "rates" then train(64, 8, nil, sgd { 0.1 * rank }) end
  if mode == "clipping" then train(64, 8, nil, sgd { 0.1, global_clipnorm = rank == 1 and 1 or nil }) end
  if mode == "schedules" then train(64, 8, nil, sgd { nn.CosineDecay { 0.1, 10 + rank } }) end
  if mode == "groups" then train(64, 8, nil, sgd { groups = { { "dense", weight_decay = 0.1 * (1 + rank) } } }) end
  if mode == "initializers" then train(64, 8, nil, nil, nn.Dense { 8, kernel_initializer = rank == 1 and "zeros" or "ones" }) end
  local of = { losses = { loss = { "mse", rank == 1 and "mae" or "mse" } }, smoothing = { loss = { "mse", nn.BinaryCrossentropy { label_smoothing = 0.1 * rank } } },
    delta = { loss = { nn.Huber { 1 + rank }, "mse" } }, weights = { loss = "mse", loss_weights = { 1, 1 + rank } },
    metrics = { loss = "mse", metrics = { { "mae" }, { rank == 1 and "mse" or "mae" } } },
    watches = { loss = "mse", metrics = { {}, { far = rank == 1 and function() return 0 end or nil } } },
    alike = { loss = { function(a, b) return (a - b):square():mean(-1) end, "mse" }, metrics = { { "mae" }, { "mae" } } } }
  if of[mode] then
    local i, x, y = nn.Input { 2 }, data.tensor { { 1, 2 }, { 3, 4 } }, data.tensor { 1, 0 }
    local two = nn.Model { inputs = i, outputs = { nn.Dense { 1, name = rank .. "a" } (i), nn.Dense { 1, activation = "sigmoid", name = rank .. "b" } (i) } }
    of[mode].optimizer = sgd { 0.1 }
    two:compile(of[mode])
    two:fit { x, { y, y }, verbose = 0 }
  end
  if mode == "callback" then train(64, 8, function(batch) if rank == 1 and batch == 0 then hvd.barrier() end end) end
  if mode == "metric" then train(64, 8, nil, nil, nil, function() if rank == 1 then hvd.barrier() end return 0 end) end
  if mode:find "^stops " then
    local x, y, batches = {}, {}, 0
    for i = 1, 64 do x[i], y[i] = { math.sin(i) }, i % 2 end
    if rank == 1 and mode == "stops nan" then x[40][1] = 0 / 0 end
    local model = nn.Sequential { nn.Dense { 4, activation = "relu", input_dim = 1 }, nn.Dense { 1 }, seed = 3 }
    model:compile { optimizer = sgd { 0.1 }, loss = "mse" }
    local own = { on_train_batch_end = function() batches = batches + 1 end }
    local callbacks = { own, hvd.MetricAverageCallback() }
    if mode == "stops nan" then
      callbacks = { nn.TerminateOnNaN {}, hvd.MetricAverageCallback() }
    elseif rank == 1 then
      local name, at = mode:match "^stops (%S+) (%d+)$"
      table.insert(callbacks, nn.LambdaCallback { [name] = function(i) model.stop_training = name == "on_train_begin" or i == tonumber(at) end })
    end
    local history = model:fit { data.tensor(x), data.tensor(y), batch_size = 16, epochs = 3, shuffle = false, verbose = 0, callbacks = callbacks }
    return ("%d epochs, %d batches"):format(#history.epoch, batches)
  end
  if mode == "barrier" then if rank == 0 then hvd.barrier() else hvd.allreduce(1) end end
  if mode == "objects" then if rank == 0 then hvd.broadcast_object({ 1 }, 0) else hvd.allgather_object(1) end end
  if mode == "roots" then hvd.broadcast_object({ 1 }, rank) end
  if mode == "returned" and rank == 0 then hvd.allreduce(1, { name = "loss" }) end
  if mode == "late" then
    if rank == 1 then os.execute("sleep 4") end
    hvd.allreduce(1, { name = "loss" })
  end
  if mode == "joined" then if rank == 0 then hvd.join() else hvd.barrier() end end
  if mode == "join" then
    local sums = {}
    for i = 1, 3 - 2 * rank do
      sums[i] = hvd.allreduce(data.tensor { i, 10 }, hvd.Sum)[0] .. "/" .. hvd.allreduce(4) .. "/" .. hvd.allreduce(2, hvd.Sum)
    end
    return table.concat(sums, " ") .. " last " .. hvd.join()
  end
end, { np = 2 })
print("done", results[1], results[2])
"""


def test_ranks_that_do_not_train_alike_are_told(t):
    folder = script(t, TOGETHER)
    for mode, why in (("steps", "fit: the ranks have different numbers of steps: rank 0 has 3 in an epoch, but rank 1 has 2. "
                                "Give each rank as many rows, or all of them steps_per_epoch = 2"),
                      ("statistics", "fit: the ranks have different numbers of steps: rank 0 has 3 in an epoch, but rank 1 has 2."),
                      ("models", "fit: the ranks have different models: rank 0 has Dense(8) relu, Dense(2) softmax, but rank 1 has "
                                 "Dense(9) relu, Dense(2) softmax; the first difference is in layer 0, dense"),
                      ("initializers", "; the first difference is in layer 1, dense_1"),
                      ("rates", "fit: the ranks have different optimizers: rank 0 has SGD learning_rate 0, but rank 1 has SGD learning_rate 0.1"),
                      ("clipping", "rank 0 has SGD learning_rate 0.1, but rank 1 has SGD learning_rate 0.1 global_clipnorm 1"),
                      ("schedules", "fit: the ranks have different optimizers: rank 0 has SGD, schedule {"),
                      ("groups", "fit: the ranks have different optimizers: rank 0 has SGD learning_rate 0.01, groups ["),
                      ("losses", "rank 0 has mean_squared_error loss_weight 1, mean_squared_error loss_weight 1, but rank 1 has "
                                 "mean_squared_error loss_weight 1, mean_absolute_error loss_weight 1"),
                      ("smoothing", "binary_crossentropy label_smoothing 0.1"),
                      ("delta", "rank 0 has huber delta 1 loss_weight 1, mean"),
                      ("weights", "fit: the ranks have different losses: rank 0 has"),
                      ("metrics", "fit: the ranks have different metrics: rank 0 has mae of output 1, mae of output 2, "
                                  "but rank 1 has mae of output 1, mse of output 2"),
                      ("watches", "fit: the ranks have different metrics: rank 0 has none, but rank 1 has far of output 2"),
                      ("callback", "One rank did an END_OF_TRAINING, but another rank did an BARRIER"),
                      ("barrier", "Mismatched collective operations: One rank did an BARRIER, but another rank did an ALLREDUCE"),
                      ("objects", "One rank did an BROADCAST_OBJECT, but another rank did an ALLGATHER_OBJECT"),
                      ("roots", "Mismatched BROADCAST_OBJECT root ranks"),
                      ("joined", "BARRIER is not supported while another rank has joined (hvd.join)")):
        done = work(folder, "trainer.lua", mode, timeout=30)
        assert done.code == 1 and why in done.err, (mode, done)
    done = work(folder, "trainer.lua", "alike", timeout=30)
    assert done.code == 0 and done.out.startswith("done"), done
    assert not ranks_left(folder)


def test_ranks_end_a_training_together(t):
    """What stops the training on one rank alone stops it on all, at the same step."""
    folder = script(t, TOGETHER)
    for how in how_ranks_speak():
        for mode, what in (("nan", "1 epochs, 0 batches"), ("on_train_begin 0", "0 epochs, 0 batches"), ("on_epoch_begin 1", "2 epochs, 4 batches"),
                           ("on_epoch_end 1", "2 epochs, 8 batches"), ("on_train_batch_begin 2", "1 epochs, 3 batches"),
                           ("on_train_batch_end 2", "1 epochs, 3 batches")):
            done = work(folder, "trainer.lua", "stops " + mode, env=how, timeout=30)
            assert done.code == 0 and done.out.endswith(f"done\t{what}\t{what}\n"), (mode, done)
            assert mode != "nan" or "[1,1]<stdout>:Batch 2: Invalid loss, terminating training" in done.out, done


BAD_RANK = """
local hvd = require "hvd"
local mode, bad = arg[1], tonumber(arg[2])
hvd.run(function(mode, bad)
  local hvd, nn, data = require "hvd", require "nn", require "data"
  hvd.init()
  local x, y = nn.ops.ones { 8, 2 }, nn.ops.ones { 8, 1 }
  if hvd.rank() == bad then x = x / 0 end
  local layers = { nn.Input { 2 }, nn.Dense { 4 }, nn.Dense { 1 } }
  if mode == "synchronized" then table.insert(layers, 3, nn.BatchNormalization { synchronized = true }) end
  local m = nn.Sequential(layers)
  m:compile { optimizer = hvd.DistributedOptimizer(nn.SGD { 0.01 }), loss = "mse" }
  if mode == "loop" then
    for _ = 1, 2 do m:train_on_batch(x, y) end
  else
    m:fit { x, y, verbose = 0, epochs = mode == "more" and 3 or 1, batch_size = mode == "steps" and 4 or 8 }
  end
end, { np = 3, args = { mode, bad } })
"""


def test_the_rank_whose_rows_are_bad_is_named(t):
    folder = script(t, BAD_RANK)
    for how in how_ranks_speak():
        for mode in ("last", "more", "steps", "synchronized", "loop"):
            for bad in (1, 2):
                done = work(folder, "trainer.lua", mode, str(bad), env=how, timeout=60)
                assert done.code == 1 and re.search(rf"rank {bad} failed: .*row \d of x holds inf", done.err), (mode, done)


def test_a_rank_that_waits_for_one_that_has_returned_ends_the_job(t):
    folder = script(t, TOGETHER)
    for how in how_ranks_speak():  # the time of Horovod's stall check, 60 s, is not waited for
        done = work(folder, "trainer.lua", "returned", env=how, timeout=30)
        assert done.code == 1 and re.search(r"rank 0 has waited \d+ s in ALLREDUCE loss; rank 1 has returned\. So they wait", done.err), done


def test_ranks_that_wait_in_vain_are_named(t):
    folder = script(t, TOGETHER)
    soon = {"HOROVOD_STALL_CHECK_TIME_SECONDS": "2"}
    for how in how_ranks_speak():
        env = dict(soon, **how)
        done = work(folder, "trainer.lua", "metric", env=env, timeout=30)
        assert done.code == 1 and re.search(r"rank 0 has waited \d+ s in ALLREDUCE gradients; rank 1 has waited \d+ s in BARRIER\. So "
                                            "they wait for ever", done.err), done
        done = work(folder, "trainer.lua", "returned", env=env, timeout=30)
        assert done.code == 1 and re.search(r"rank 0 has waited \d+ s in ALLREDUCE loss; rank 1 has returned\. So they wait", done.err), done
        done = work(folder, "trainer.lua", "late", env=env, timeout=30)
        assert done.code == 0 and done.out.startswith("done"), done
        assert re.search(r"firesteel-worker: rank 0 has waited \d+ s in ALLREDUCE loss; rank 1 is missing: it is in no", done.err), done
    done = work(folder, "trainer.lua", "late", env=dict(soon, HOROVOD_STALL_CHECK_DISABLE="1"), timeout=30)
    assert done.code == 0 and not done.err, done
    done = work(folder, "trainer.lua", "late", env=dict(soon, HOROVOD_STALL_SHUTDOWN_TIME_SECONDS="2"), timeout=30)
    assert done.code == 1 and "The job ends (HOROVOD_STALL_SHUTDOWN_TIME_SECONDS)" in done.err, done
    done = work(folder, "trainer.lua", "late", env={"HOROVOD_STALL_CHECK_TIME_SECONDS": "soon"})
    assert done.code == 2 and "HOROVOD_STALL_CHECK_TIME_SECONDS must be an integer" in done.err, done


def test_a_rank_that_has_joined_counts_as_zero(t):
    done = work(script(t, TOGETHER), "trainer.lua", "join")
    assert done.code == 0, done
    assert done.out == "done\t2.0/4.0/4 2.0/2.0/2 3.0/2.0/2 last 0\t2.0/4.0/4 last 0\n", done


AVERAGES = """
local hvd, data = require "hvd", require "data"
print(hvd.run(function()
  hvd.init()
  local t = hvd.allreduce(data.tensor { hvd.rank(), 10 * hvd.rank() })
  return ("%g %g %g %g"):format(hvd.allreduce(hvd.rank()), hvd.allreduce(hvd.rank(), hvd.Sum), t[0], t[1])
end, { np = 3 })[2])
"""


def test_averages_are_means(t):
    done = work(script(t, AVERAGES), "trainer.lua")
    assert done.code == 0 and done.out == "1 3 1 10\n", done


CARRIED = """
local hvd = require "hvd"
hvd.run(function() hvd.init() hvd.allreduce(1) end, { np = tonumber(arg[1]) })
"""


def test_a_timeline_names_what_carried_the_bytes(t):
    need_mpi()
    path = os.path.join(t.dir(), "timeline.json")
    for np, env, want in (("1", SHARED, {"ALLREDUCE"}), ("2", SHARED, {"ALLREDUCE", "SHM_ALLREDUCE"}), ("2", MPI, {"ALLREDUCE", "MPI_ALLREDUCE"})):
        done = work(script(t, CARRIED), "trainer.lua", np, env=dict(env, HOROVOD_TIMELINE=path))
        assert done.code == 0, done
        with open(path, encoding="utf-8") as f:
            found = {e["name"] for e in json.load(f) if e.get("ph") == "B" and "ALLREDUCE" in e["name"] and "NEGOTIATE" not in e["name"]}
        assert found == want, (np, env, found)


BUCKETS = """
local hvd, nn = require "hvd", require "nn"
print(table.unpack(hvd.run(function()
  hvd.init()
  local model = nn.Sequential { seed = 1, nn.Input { 40 }, nn.Dense { 70, activation = "relu" }, nn.BatchNormalization {}, nn.Dense { 70 },
    nn.Dense { 3, activation = "softmax", kernel_regularizer = nn.L2(0.01) } }
  model:compile { optimizer = hvd.DistributedOptimizer(nn.Adam { learning_rate = 0.01 }), loss = "sparse_categorical_crossentropy" }
  local history = model:fit { nn.ops.full({ 60, 40 }, 1 + hvd.rank()), nn.ops.full({ 60 }, hvd.rank()), epochs = 3, batch_size = 20, verbose = 0 }
  return ("%.9g"):format(history.history.loss[3])
end, { np = 2 })))
"""


def test_gradients_are_averaged_in_buckets_while_backward_goes_on(t):
    need_mpi()
    folder, told = script(t, BUCKETS), {}
    path = os.path.join(folder, "timeline.json")
    whole = work(folder, "trainer.lua", env=SHARED)
    assert whole.code == 0, whole
    for threshold, buckets in (("0", 4), ("8000", 2), (None, 1)):
        done = work(folder, "trainer.lua", env=dict(MPI, HOROVOD_FUSION_THRESHOLD=threshold, HOROVOD_TIMELINE=path))
        assert done.code == 0 and done.out == whole.out, (threshold, whole, done)
        with open(path, encoding="utf-8") as f:
            events = json.load(f)
        name = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
        for e in events:
            if e["ph"] in "BE" and name[e["pid"]].startswith("gradients"):
                told.setdefault(name[e["pid"]], []).append(e["ts"])
        assert set(told) == ({f"gradients.{i}" for i in range(buckets)} if buckets > 1 else {"gradients"}), (threshold, set(told))
        if buckets > 1:  # the second begins before the first one ends
            assert told["gradients.0"][0] <= told["gradients.1"][0] <= told["gradients.0"][5], told
        told.clear()
    done = work(folder, "trainer.lua", env=dict(MPI, HOROVOD_FUSION_THRESHOLD="much"))
    assert done.code == 2 and "HOROVOD_FUSION_THRESHOLD must be an integer" in done.err, done


def ranks_left(folder):
    return [p for p in processes("firesteel-worker") if "--rank" in p and BUILD in p]


def test_a_failed_rank_ends_the_job(t):
    folder = script(t, RANKS)
    for mode, code, why in (("error", 1, "rank 1 failed: trainer.lua:5: boom"),
                            ("exit", 3, ""),
                            ("kill", 1, "rank 1 was ended by signal 9 (Killed) before it had a result"),
                            ("early", 1, "Horovod has not been initialized; use hvd.init()."),
                            ("shape", 1, "Mismatched ALLREDUCE tensor shapes: One rank sent a tensor of "
                                         "shape (1,), but another rank sent a tensor of shape (2,)."),
                            ("global", 1, "global 'global' was set by the script")):
        done = work(folder, "trainer.lua", mode, timeout=30)
        assert done.code == code and why in done.err, (mode, done)
        if mode == "error":
            assert "in upvalue 'inner'" in done.err and "in function 'hvd.run'" in done.err, done
        assert not ranks_left(folder), mode


def test_signals_end_all_ranks(t):
    folder = script(t, RANKS)
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)):
        driver = subprocess.Popen([WORKER, "trainer.lua", "loop"], cwd=folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
        assert b"looping" in driver.stdout.readline()
        driver.send_signal(number)
        assert driver.wait(10 * PATIENCE) == code, number
        eventually(lambda: not ranks_left(folder), 5)
        driver.stdout.close()


def test_a_signal_stops_training(t):
    folder = script(t, trainer_of_recipe())
    driver = subprocess.Popen([WORKER, "trainer.lua", "--epochs=500"], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    while "Epoch 2/500" not in driver.stdout.readline():
        pass
    driver.send_signal(signal.SIGINT)
    _, err = driver.communicate(timeout=10 * PATIENCE)
    assert driver.returncode == 130 and "interrupted" in err, (driver.returncode, err)


def test_a_signal_is_not_caught_by_pcall(t):
    folder = script(t, "print 'go'\nwhile true do pcall(function() while true do end end) end")
    driver = subprocess.Popen([WORKER, "trainer.lua"], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    driver.stdout.readline()
    driver.terminate()
    assert driver.wait(10 * PATIENCE) == 143
    driver.stdout.close()


def test_a_signal_ends_what_does_not_listen(t):
    folder = script(t, "print 'go'\ncoroutine.wrap(function() while true do end end)()")
    driver = subprocess.Popen([WORKER, "trainer.lua"], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    driver.stdout.readline()
    driver.terminate()
    assert driver.wait(20 * PATIENCE) == 143
    driver.stdout.close()


def test_ranks_without_path_and_home(t):
    folder = script(t, RANKS)
    os.chmod(folder, 0o555)
    for env in ({"PATH": "/nowhere"}, {"PATH": None, "HOME": None, "TMPDIR": folder}):
        assert work(folder, "trainer.lua", "ok", "2", env=env).code == 0
    assert os.listdir(folder) == ["trainer.lua"]
    os.chmod(folder, 0o755)


def test_ranks_of_an_ordinary_user(t):
    if os.geteuid() != 0 or sh("setpriv", "--reuid=nobody", "--clear-groups", "test", "-x", WORKER).code:
        raise Skip("needs root, and a build folder that everybody may enter")
    folder = script(t, RANKS)
    os.chmod(folder, 0o555)
    done = sh("setpriv", "--reuid=nobody", "--clear-groups", "--inh-caps=-all", WORKER, "trainer.lua", "ok", "2",
              cwd=folder)
    assert done.code == 0 and done.out.startswith("[1,"), done


HOLD = """
local hvd = require "hvd"
hvd.run(function()
  hvd.init()
  hvd.allreduce(1)
  os.execute("sleep 4321 & echo sleeps $!")
  print("pid " .. io.open("/proc/self/stat"):read("n"))
  hvd.barrier()
  print "holding"
  while true do end
end, { np = 3 })
"""


class Held:
    """A job whose ranks wait: the driver, and its processes by number."""

    def __init__(self, t, np=3, **options):
        self.driver = subprocess.Popen([WORKER, "trainer.lua"], cwd=script(t, HOLD), stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, **options)
        t.after(lambda: (self.driver.kill(), self.driver.communicate()))
        held, self.ranks, self.children = 0, {}, {}
        while held < np:
            line = self.driver.stdout.readline()
            assert line, self.driver.stderr.read()
            rank, text = int(line[3:line.index("]")]), line.split(":", 1)[1].split()
            held += text == ["holding"]
            for word, found in ("pid", self.ranks), ("sleeps", self.children):
                if text[0] == word:
                    found[rank] = int(text[1])
        assert len(self.ranks) == np and len(self.children) == np, (self.ranks, self.children)

    def pids(self):
        return [*self.ranks.values(), *self.children.values()]

    def left(self):
        return [pid for pid in self.pids() if alive(pid)]

    def gone(self, seconds=1):
        eventually(lambda: not self.left(), seconds)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descriptors(pid):
    """A process's descriptors: number → target."""
    folder = f"/proc/{pid}/fd"
    return {int(fd): os.readlink(os.path.join(folder, fd)) for fd in os.listdir(folder)}


def sockets(pid, table):
    """The rows of /proc/PID/net/TABLE for sockets of the process."""
    own = {to[8:-1] for to in descriptors(pid).values() if to.startswith("socket:[")}
    column = 6 if table == "unix" else 9
    with open(f"/proc/{pid}/net/{table}") as f:
        rows = [line.split() for line in f.readlines()[1:]]
    return [row for row in rows if row[column] in own]


def test_nobody_can_talk_to_ranks(t):
    for how in how_ranks_speak():
        job = Held(t, env=environment(how))
        for pid in [job.driver.pid, *job.ranks.values()]:
            for table in "tcp", "tcp6", "udp", "udp6", "raw", "raw6":
                if os.path.exists(f"/proc/{pid}/net/{table}"):
                    assert not sockets(pid, table), (table, sockets(pid, table))
            # it has a path, or an abstract name
            named = [row for row in sockets(pid, "unix") if len(row) > 7]
            assert not named, named


def test_memory_of_ranks_has_no_descriptor_and_children_lack_it(t):
    job, before = Held(t), os.listdir("/dev/shm")
    for pid in job.ranks.values():
        with open(f"/proc/{pid}/maps") as f:
            maps = [line.rstrip() for line in f if "/dev/shm/" in line or "/SYSV" in line or "/memfd:" in line]
        assert len(maps) == 1 and maps[0].endswith("/memfd:firesteel-ranks (deleted)"), maps
        assert not [to for to in descriptors(pid).values() if "memfd" in to or "/dev/shm" in to], descriptors(pid)
    for pid in [job.driver.pid, *job.children.values()]:
        with open(f"/proc/{pid}/maps") as f:
            assert "firesteel-ranks" not in f.read(), pid
        assert not [to for to in descriptors(pid).values() if "firesteel-ranks" in to], descriptors(pid)
    os.killpg(os.getpgid(job.ranks[0]), signal.SIGKILL)
    job.driver.communicate(timeout=20 * PATIENCE)
    assert set(os.listdir("/dev/shm")) <= set(before)


def test_shared_memory_of_mpi_has_no_name_and_is_the_owners(t):
    need_mpi()
    job = Held(t, env=environment(MPI))
    for pid in job.ranks.values():
        shared = {fd: to for fd, to in descriptors(pid).items() if to.startswith("/dev/shm/")}
        with open(f"/proc/{pid}/maps") as f:
            maps = [line for line in f if "/dev/shm/" in line or "/SYSV" in line]
        # a file without a name goes with the last process that has it open, however that ends
        assert maps and all(line.rstrip().endswith(" (deleted)") and "/SYSV" not in line for line in maps), maps
        for fd in shared:
            assert os.stat(f"/proc/{pid}/fd/{fd}").st_mode & 0o077 == 0, shared


MEETS = """
local hvd = require "hvd"
hvd.run(function()
  hvd.init()
  hvd.allreduce(1)
end, { np = 3 })
print "met"
"""


def test_ranks_whose_threads_are_late(t):
    """UCX has a thread of its own; on a busy machine it once met a socket that we had replaced, and ended its rank."""
    need_mpi()
    folder = script(t, MEETS)
    env = dict(MPI, LD_PRELOAD=LATE)
    if SANITIZED:
        env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    for ms in "1", "5", "20", "5", "1":
        done = work(folder, "trainer.lua", env=dict(env, LATE_MS=ms))
        if SANITIZED and done.code and "LD_PRELOAD" in done.err:
            raise Skip("the sanitizer wants to be loaded first")
        assert done.code == 0 and done.out == "met\n", (ms, done)
    # the moment is rarely met: what keeps UCX from having that thread at all is looked at, too
    done = work(script(t, 'local hvd = require "hvd"\nprint(hvd.run(function()\n  hvd.init()\n  return io.open("/proc/self/environ")'
                          ':read("a"):find("UCX_ADAPTIVE_PROGRESS=n", 1, true) ~= nil\nend, { np = 2 }):rank(1))'), "trainer.lua")
    assert done.out == "true\n", done


SECRETS = """
local hvd = require "hvd"
local function seen()
  local all = { tostring(os.getenv "FIRESTEEL_SECRET"), io.popen("env"):read("a") }
  for _, name in ipairs { "environ", "cmdline" } do all[#all + 1] = io.open("/proc/self/" .. name):read("a") end
  return (table.concat(all, " "):gsub("%z", " "))
end
print(seen())
local all = hvd.run(function() hvd.init() return seen() end)
print(all[1], all[2])
"""


def test_no_secret_is_handed_on(t):
    need_mpi()
    folder, port = script(t, SECRETS), free_port()
    executors = start_executors(t, port, 2, secret="very-s3cret")
    done = work(folder, "trainer.lua", env=driver_env(port, 2, FIRESTEEL_SECRET="very-s3cret"))
    assert done.code == 0 and "--rank" in done.out and "PMI_RANK=1" in done.out, done
    assert "very-s3cret" not in done.out + done.err, done
    assert [e.wait(10 * PATIENCE) for e in executors] == [0, 0]


def test_a_secret_from_a_descriptor(t):
    need_mpi()
    port = free_port()

    def give(argv, cwd, **more):
        read, write = os.pipe()
        os.write(write, b"from-a-pipe\n")
        os.close(write)
        process = subprocess.Popen([WORKER, *argv], cwd=cwd, text=True, pass_fds=[read], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=dict(os.environ, FIRESTEEL_SECRET_FD=str(read), **more))
        os.close(read)
        t.after(lambda: (process.kill(), process.communicate()))
        return process
    executors = [give(["--executor", f"127.0.0.1:{port}"], t.dir()) for _ in range(2)]
    env = driver_env(port, 2)
    del env["FIRESTEEL_SECRET"]
    out, err = give(["trainer.lua"], script(t, PLACES), **env).communicate(timeout=60 * PATIENCE)
    assert "0/2 local 0/1 cross 0/2 sum 1" in out, (out, err)
    assert [e.wait(10 * PATIENCE) for e in executors] == [0, 0]


def test_results_are_data(t):
    folder = script(t, """
local hvd = require "hvd"
local what = { f = function() return { list = { 1, print } } end, meta = function() return 1, setmetatable({}, {}) end,
  lua = function() return { f = function() end } end, file = function() return io.stdout end }
hvd.run(what[arg[1]], { np = 2 })
""")
    for mode, why in (("f", "what the function returned: value 1, field 'list', item 2: function: "),
                      ("meta", "what the function returned: value 2: a table with a metatable cannot travel"),
                      ("lua", "what the function returned: value 1, field 'f': function: "),
                      ("file", "what the function returned: value 1: file (")):
        done = work(folder, "trainer.lua", mode)
        assert done.code == 1 and why in done.err, done
        if mode != "file":
            assert "only data can (nil, booleans, numbers, strings, tables, tensors, models)" in done.err, done


def test_what_children_of_ranks_print_is_tagged(t):
    done = work(script(t, """
require "hvd".run(function() os.execute "echo out; echo err >&2; printf rest" end, { np = 2 })"""), "trainer.lua")
    assert sorted(done.out.splitlines()) == [f"[1,{r}]<stdout>:{s}" for r in (0, 1) for s in ("out", "rest")], done
    assert sorted(done.err.splitlines()) == ["[1,0]<stderr>:err", "[1,1]<stderr>:err"], done


def test_the_rank_that_was_killed_is_named(t):
    for number, how in ((signal.SIGKILL, "signal 9 (Killed)"), (signal.SIGSEGV, "signal 11 (Segmentation fault)"),
                        (signal.SIGTERM, "signal 15 (Terminated)")):
        if SANITIZED and number == signal.SIGSEGV:  # the sanitizer reports that one itself
            continue
        for speaks in how_ranks_speak():
            job = Held(t, env=environment(speaks))
            os.kill(job.ranks[2], number)
            _, err = job.driver.communicate(timeout=20 * PATIENCE)
            assert job.driver.returncode == 1 and f"rank 2 was ended by {how} before it had a result" in err, err
            assert not job.left(), job.left()  # everything is gone before the driver reports


def test_a_killed_driver_leaves_nothing(t):
    for how in how_ranks_speak():
        job = Held(t, env=environment(how))
        job.driver.kill()
        job.driver.wait()
        job.gone()


def test_damaged_data(t):
    folder = script(t, 'require "data".mnist()')
    os.makedirs(os.path.join(folder, "data"))
    shutil.copytree(os.path.join(SOURCE, "recipes", "data", "mnist"), os.path.join(folder, "data", "mnist"))
    damaged = os.path.join(folder, "data", "mnist", "t10k-labels-idx1-ubyte.gz")
    with open(damaged, "r+b") as f:
        f.seek(100)
        f.write(b"\0\0\0\0")
    done = work(folder, "trainer.lua")
    assert done.code == 1 and "t10k-labels-idx1-ubyte.gz" in done.err and "trainer.lua:1:" in done.err, done


def test_events(t):
    folder = script(t, trainer_of_recipe())
    read, write = os.pipe()
    driver = subprocess.Popen([WORKER, "trainer.lua", "--epochs=2"], cwd=folder, stdout=subprocess.DEVNULL,
                              env=dict(os.environ, FIRESTEEL_EVENTS=str(write)), pass_fds=[write])
    os.close(write)
    with os.fdopen(read) as f:
        events = [json.loads(line) for line in f]
    assert driver.wait() == 0
    epochs = [e for e in events if e["event"] == "epoch"]
    assert [(e["epoch"], e["epochs"], e["rank"]) for e in epochs] == [(1, 2, 0), (2, 2, 0)], events
    assert set(epochs[0]["metrics"]) >= {"loss", "accuracy", "val_loss", "val_accuracy"}, events
    assert events[-1]["event"] == "evaluate" and events[-1]["metrics"]["accuracy"] > 0.9, events
    done = work(folder, "trainer.lua", "--epochs=1", env={"FIRESTEEL_EVENTS": "stdout"})
    marked = [line for line in done.out.splitlines() if line.startswith("@firesteel ")]
    assert json.loads(marked[-1][11:])["event"] == "evaluate", done


READERS = """
local hvd, data = require "hvd", require "data"
local function look(way)
  hvd.init()
  data.mnist { rank = hvd.rank(), size = hvd.size() }
  data.csv "ranks.csv"
  data.csv "both.csv"
end
data.mnist()
data.csv "both.csv"
if arg[1] == "damage" then
  local labels = assert(io.open("data/mnist/t10k-labels-idx1-ubyte", "r+"))
  labels:seek("set", 8)
  labels:write "\\1"
  labels:close()
  assert(os.execute "touch -d @0 data/mnist/t10k-labels-idx1-ubyte")
end
hvd.run(look, { np = 2 })
"""


def readers(t):
    """Eight black pictures in each set of MNIST, each a 0, of 1970, with the files' sums; and two tables."""
    folder = script(t, READERS)
    mnist = os.path.join(folder, "data", "mnist")
    os.makedirs(mnist)
    files = {f"{name}-{kind}-ubyte": head + bytes(8 * each) for name in ("train", "t10k")
             for kind, head, each in (("images-idx3", struct.pack(">4I", 0x803, 8, 28, 28), 784), ("labels-idx1", struct.pack(">2I", 0x801, 8), 1))}
    files["SHA256SUMS"] = "".join(f"{hashlib.sha256(content).hexdigest().upper()}  {name}\n" for name, content in files.items()).encode()
    files["both.csv"] = files["ranks.csv"] = b"a,b\n1,2\n"
    for name, content in files.items():
        path = os.path.join(folder if name.endswith(".csv") else mnist, name)
        with open(path, "wb") as f:
            f.write(content)
        os.utime(path, (0, 0))
    return folder, files


def test_what_the_driver_has_read_is_told_once(t):
    folder, files = readers(t)
    for how in how_ranks_speak():
        done = work(folder, "trainer.lua", env=dict(how, FIRESTEEL_EVENTS="stdout", FIRESTEEL_DATA=None))
        told = [json.loads(line[11:]) for line in done.out.splitlines() if line.startswith("@firesteel ")]
        reads = [(os.path.basename(e["path"]), e["sha256"]) for e in told if e["event"] == "read"]
        assert done.code == 0 and len(reads) == 6, done
        assert dict(reads) == {name: hashlib.sha256(content).hexdigest() for name, content in files.items() if name != "SHA256SUMS"}, reads
        assert "@firesteel" not in work(folder, "trainer.lua", env=dict(how, FIRESTEEL_DATA=None)).out


def test_what_was_changed_under_an_old_date_is_checked_again(t):
    """Ranks believe the sums that their driver has made of the very same files."""
    folder, _ = readers(t)
    done = work(folder, "trainer.lua", "damage", env={"FIRESTEEL_DATA": None})
    assert done.code == 1 and "t10k-labels-idx1-ubyte: the file was changed or damaged" in done.err, done


def test_the_timeline_is_json_at_any_time(t):
    folder = script(t, trainer_of_recipe())
    path = os.path.join(folder, "timeline.json")
    done = work(folder, "--np", "2", "trainer.lua", "--epochs=1", env={"HOROVOD_TIMELINE": path})
    assert done.code == 0, done
    with open(path, encoding="utf-8") as f:
        events = json.load(f)
    named = [e["args"]["name"] for e in events if e.get("name") == "process_name"]
    assert {"gradients", "variables"} <= set(named), named
    assert sum(e.get("name") == "SHM_ALLREDUCE" for e in events) > 469
    assert not [e for e in events if "MPI" in e.get("name", "")]
    assert all(sum(e["ph"] == p for e in events) == sum(e["ph"] == "E" for e in events) for p in "B")
    stamps = [e["ts"] for e in events if "ts" in e]
    assert stamps == sorted(stamps)


def free_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_executors(t, port, n, secret="s3cret", **env):
    found = []
    for _ in range(n):
        e = subprocess.Popen([WORKER, "--executor", f"127.0.0.1:{port}"], stderr=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, text=True,
                             env=dict(os.environ, FIRESTEEL_SECRET=secret, **env))
        t.after(lambda e=e: (e.kill(), e.communicate()))
        found.append(e)
    return found


def driver_env(port, executors, cores=1, **more):
    return dict({"FIRESTEEL_EXECUTORS": str(executors), "FIRESTEEL_EXECUTOR_CORES": str(cores),
                 "FIRESTEEL_DRIVER_BIND": "127.0.0.1", "FIRESTEEL_DRIVER_PORT": str(port),
                 "FIRESTEEL_SECRET": "s3cret"}, **more)


PLACES = """
local hvd = require "hvd"
local function f()
  hvd.init()
  return ("%d/%d local %d/%d cross %d/%d sum %d"):format(hvd.rank(), hvd.size(), hvd.local_rank(),
    hvd.local_size(), hvd.cross_rank(), hvd.cross_size(), hvd.allreduce(hvd.rank(), hvd.Sum))
end
for job = 1, 2 do
  for _, line in ipairs(hvd.run(f)) do print(line) end
end
"""


def test_executors(t):
    need_mpi()
    folder, port = script(t, PLACES), free_port()
    executors = start_executors(t, port, 2)
    done = work(folder, "trainer.lua", env=driver_env(port, 2, 2))
    assert done.code == 0, done
    lines = ["0/4 local 0/2 cross 0/2 sum 6", "1/4 local 1/2 cross 0/2 sum 6",
             "2/4 local 0/2 cross 1/2 sum 6", "3/4 local 1/2 cross 1/2 sum 6"]
    assert done.out.splitlines() == lines * 2, done
    assert [e.wait(10 * PATIENCE) for e in executors] == [0, 0]


def test_executors_end_with_a_script_that_starts_no_ranks(t):
    need_mpi()
    port = free_port()
    executors = start_executors(t, port, 1)
    done = work(script(t, "os.execute 'sleep 0.5' os.exit(3)"), "trainer.lua", env=driver_env(port, 1))
    assert done.code == 3, done
    assert executors[0].wait(10 * PATIENCE) == 0


def test_a_node_without_a_number(t):
    done = work(t.dir(), "--node", "host:7337", "--function", "f", env={"JOB_COMPLETION_INDEX": None, "PET_NODE_RANK": None})
    assert done.code == 2 and "the number of this node in JOB_COMPLETION_INDEX or PET_NODE_RANK" in done.err, done


def test_more_ranks_than_slots(t):
    port = free_port()
    done = work(script(t, "require 'hvd'.run(print, {np = 3})"), "trainer.lua", env=driver_env(port, 2),
                timeout=20)
    assert done.code == 1 and "Requested more processes (3) than there are available slots (2)" in done.err, done


def test_executors_that_do_not_come(t):
    need_mpi()
    port = free_port()
    done = work(script(t, "require 'hvd'.run(print, {start_timeout = 0.5})"), "trainer.lua",
                env=driver_env(port, 2), timeout=20)
    assert done.code == 1, done
    assert "Timed out waiting for executors to start: 0 of 2 called within 0.5 s." in done.err, done


def test_an_executor_with_another_secret(t):
    need_mpi()
    port = free_port()
    wrong = start_executors(t, port, 1, secret="guess")
    done = work(script(t, "require 'hvd'.run(print, {start_timeout = 2})"), "trainer.lua",
                env=driver_env(port, 2), timeout=20)
    assert done.code == 1 and "0 of 2 called" in done.err, done
    assert wrong[0].wait(10 * PATIENCE) == 1
    assert "FIRESTEEL_SECRET" in wrong[0].stderr.read()


def test_strangers_cost_the_driver_nothing(t):
    """Who has proved nothing may not announce more than a HELLO."""
    import socket
    need_mpi()
    port = free_port()
    driver = subprocess.Popen([WORKER, "trainer.lua"], cwd=script(t, "require 'hvd'.run(print, {start_timeout = 30})"),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ, **driver_env(port, 2)))
    t.after(lambda: (driver.kill(), driver.wait()))

    def connect():
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            return None
    with eventually(connect) as stranger:
        stranger.settimeout(20 * PATIENCE)
        kind, n = stranger.recv(1)[0], int.from_bytes(stranger.recv(4), "little")
        assert (kind, n, len(stranger.recv(n))) == (0, 32, 32)
        stranger.sendall(bytes([9]) + (1 << 29).to_bytes(4, "little"))  # a RESULT of half a gigabyte
        taken = 0
        with contextlib.suppress(ConnectionError):
            while taken < 64 << 20:
                taken += stranger.send(b"x" * (1 << 20))
        assert taken < 32 << 20, taken  # what the system keeps of it in between is some megabytes


def pass_through(t, port, change=None):
    """A wire that somebody sits on: passes connections on to the driver; returns its port and all that went through.
    change(sent, piece) may change what an executor sends: `sent` bytes went before."""
    import socket
    import threading
    seen, listener = [], socket.create_server(("127.0.0.1", 0))

    def copy(source, target, alter):
        sent = 0
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                seen.append(piece)
                target.sendall(alter(sent, piece) if alter else piece)
                sent += len(piece)
        for s in source, target:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                caller = listener.accept()[0]
                try:
                    driver = socket.create_connection(("127.0.0.1", port))
                except OSError:
                    caller.close()
                    continue
                threading.Thread(target=copy, args=(caller, driver, change), daemon=True).start()
                threading.Thread(target=copy, args=(driver, caller, None), daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()
    t.after(listener.close)
    return listener.getsockname()[1], seen


TELLING = """
local hvd = require "hvd"
print(hvd.run(function() hvd.init() print "said-by-a-rank" return "returned-by-a-rank" end)[1])
"""


def test_who_sits_on_the_wire_reads_nothing(t):
    need_mpi()
    port = free_port()
    wire, seen = pass_through(t, port)
    executors = start_executors(t, wire, 2)
    done = work(script(t, TELLING), "trainer.lua", env=driver_env(port, 2))
    assert done.code == 0 and "returned-by-a-rank" in done.out and "said-by-a-rank" in done.out, done
    assert [e.wait(10 * PATIENCE) for e in executors] == [0, 0]
    everything = b"".join(seen)
    assert len(everything) > 2000
    for word in b"said-by-a-rank", b"returned-by-a-rank", b"UCX_TLS", b"cmd=", b"s3cret", b"Lua":
        assert word not in everything, word


def test_who_sits_on_the_wire_changes_nothing(t):
    """The proof goes through; the first sealed byte does not."""
    need_mpi()
    port, hello = free_port(), 5 + 64
    wire, _ = pass_through(t, port, lambda sent, piece: piece if sent < hello else piece[:-1] + bytes([piece[-1] ^ 1]))
    start_executors(t, wire, 2)
    done = work(script(t, TELLING), "trainer.lua", env=driver_env(port, 2), timeout=20)
    assert done.code == 1 and "bytes were changed, repeated or left out on the way" in done.err, done
    assert "said-by-a-rank" not in done.out, done


LOOP = 'require "hvd".run(function() require "hvd".init() print "looping" while true do end end)'


def looping(t, port):
    executors = start_executors(t, port, 2)
    driver = subprocess.Popen([WORKER, "trainer.lua"], cwd=script(t, LOOP), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=dict(os.environ, **driver_env(port, 2)))
    t.after(lambda: (driver.kill(), driver.communicate()))
    assert "looping" in driver.stdout.readline()
    return driver, executors


def test_a_lost_executor(t):
    need_mpi()
    driver, executors = looping(t, free_port())
    executors[0].kill()
    _, err = driver.communicate(timeout=20 * PATIENCE)
    assert driver.returncode == 1, err
    assert "executor 127.0.0.1 was lost: its connection has ended" in err, err
    assert executors[1].wait(20 * PATIENCE) == 0
    eventually(lambda: not ranks_left(None), 10)


def test_the_rank_of_an_executor_that_was_killed_is_named(t):
    need_mpi()
    folder, port = script(t, """
local hvd = require "hvd"
hvd.run(function()
  hvd.init()
  hvd.barrier()
  if hvd.rank() == 2 then os.execute "kill -9 $PPID" end
  hvd.barrier()
end)"""), free_port()
    executors = start_executors(t, port, 2)
    done = work(folder, "trainer.lua", env=driver_env(port, 2, 2))
    assert done.code == 1 and "rank 2 was ended by signal 9 (Killed) before it had a result" in done.err, done
    assert [e.wait(10 * PATIENCE) for e in executors] == [0, 0]


def test_uneven_executors(t):
    need_mpi()
    folder, port = script(t, PLACES.replace("hvd.run(f)", "hvd.run(f, { np = 3 })")), free_port()
    executors = start_executors(t, port, 3)
    done = work(folder, "trainer.lua", env=driver_env(port, 3, 2))
    lines = ["0/3 local 0/2 cross 0/2 sum 3", "1/3 local 1/2 cross 0/1 sum 3", "2/3 local 0/1 cross 1/2 sum 3"]
    assert done.code == 0 and done.out.splitlines() == lines * 2, done
    assert [e.wait(10 * PATIENCE) for e in executors] == [0, 0, 0]


BIG = """
local hvd = require "hvd"
local text = ("x"):rep(3 << 20)
local all = hvd.run(function()
  for i = 1, 2000 do print(("line %d "):format(i) .. ("y"):rep(200)) end
  return text .. 1
end)
for i = 1, #all do print("#", #all[i], all[i]:sub(-1)) end
"""


def test_much_goes_both_ways_through_executors(t):

    folder, port = script(t, BIG), free_port()
    executors = start_executors(t, port, 2)
    done = work(folder, "trainer.lua", env=driver_env(port, 2, 2))
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[-4:] == [f"#\t{(3 << 20) + 1}\t1"] * 4, lines[-4:]
    for rank in range(4):
        own = [line for line in lines if line.startswith(f"[1,{rank}]<stdout>:")]
        assert [int(line.split()[1]) for line in own] == list(range(1, 2001)), rank
    assert [e.wait(10 * PATIENCE) for e in executors] == [0, 0]


def test_executors_of_one_machine_listen_on_loopback_only(t):
    need_mpi()
    port = free_port()
    folder = script(t, HOLD.replace(", { np = 3 }", ""))
    start_executors(t, port, 2)
    driver = subprocess.Popen([WORKER, "trainer.lua"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=dict(os.environ, **driver_env(port, 2)))
    t.after(lambda: (driver.kill(), driver.communicate()))
    pids, held = [], 0
    while held < 2:
        text = driver.stdout.readline().split(":", 1)[1].split()
        held += text == ["holding"]
        pids += [int(text[1])] if text[0] == "pid" else []
    for pid in pids:
        rows = [row[1] for table in ("tcp", "tcp6", "udp", "udp6") if os.path.exists(f"/proc/{pid}/net/{table}")
                for row in sockets(pid, table)]
        assert rows and all(row.startswith("0100007F:") for row in rows), rows
        assert not [row for row in sockets(pid, "unix") if len(row) > 7]


def test_a_lost_driver(t):
    need_mpi()
    driver, executors = looping(t, free_port())
    driver.kill()
    assert [e.wait(20 * PATIENCE) for e in executors] == [1, 1]
    assert "lost the driver" in executors[0].stderr.read()
    eventually(lambda: not ranks_left(None), 10)


def test_a_driver_that_does_not_come(t):
    need_mpi()
    e = start_executors(t, free_port(), 1, HOROVOD_SPARK_START_TIMEOUT="1")[0]
    assert e.wait(20 * PATIENCE) == 4
    assert "Timed out waiting for the driver to start" in e.stderr.read()


if __name__ == "__main__":
    run(globals())
