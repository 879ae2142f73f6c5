#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What stands around a model in a trainer file: weights of rows and classes, schedules, data and its files."""
import os

from tap import BUILD, Skip, run, sh

WORKER = os.path.join(BUILD, "cli", "firesteel-worker")
PLUGIN = os.path.join(BUILD, "trainer", "dist", "firesteel-mpi.so")


def work(t, text, *args, **rest):
    """Runs a trainer file in a folder of its own."""
    folder = rest.pop("folder", None) or t.dir()
    with open(os.path.join(folder, "trainer.lua"), "w", encoding="utf-8") as f:
        f.write(text)
    return sh(WORKER, *rest.pop("options", ()), "trainer.lua", *args, cwd=folder, **rest)


def need_mpi():
    if not os.path.exists(PLUGIN):
        raise Skip("firesteel-mpi.so was not built (Debian: apt install libmpich-dev)")


WEIGHTS = """
local hvd, nn, data = require "hvd", require "nn", require "data"
local function train(how)
  hvd.init()
  local rows, labels, counts = {}, {}, {}
  for i = 0, 599 do
    rows[i + 1] = { math.sin(i), math.cos(3 * i), math.sin(0.1 * i * i) }
    labels[i + 1], counts[i + 1] = i * i % 7 % 3, 0.2 + i % 5
  end
  local function mine(table, options) return data.tensor(table, options):shard(hvd.rank(), hvd.size()) end
  local x, y, w = mine(rows), mine(labels, { dtype = "i64" }), mine(counts)
  local model = nn.Sequential { nn.Dense { 16, activation = "tanh", input_dim = 3 }, nn.Dense { 3, activation = "softmax" } }
  model:compile { optimizer = hvd.DistributedOptimizer(nn.Adam { 0.01 }), loss = "sparse_categorical_crossentropy",
    metrics = { "accuracy", certain = function(_, y_pred) return y_pred:max() end } }
  local options = { x, y, batch_size = 60 // hvd.size(), epochs = 3, shuffle = false, verbose = 0,
    callbacks = { hvd.MetricAverageCallback() } }
  if how == "rows" then options.sample_weight = w end
  if how == "classes" then options.class_weight = { [0] = 0.5, [2] = 4 } end
  if how == "rows" then options.validation_data = { x, y, w } end
  local h = model:fit(options).history
  return { h.loss[3], h.accuracy[3], h.val_loss and h.val_loss[3] or 0, model:get_weights()[1]:sum() }
end
local np = tonumber(arg[1])
for _, how in ipairs { "plain", "rows", "classes" } do
  local first = hvd.run(train, { np = np, args = { how } })[1]
  print(("%.9f %.9f %.9f %.9f"):format(table.unpack(first)))
end
"""


def test_weights_of_rows_and_classes_are_the_same_on_ranks(t):
    need_mpi()
    said = []
    for np in ("1", "2", "3"):
        done = work(t, WEIGHTS, np)
        assert done.code == 0, done
        said.append([[float(v) for v in line.split()] for line in done.out.splitlines()])
    plain, rows, classes = said[0]
    assert abs(plain[0] - rows[0]) > 0.1 and abs(plain[0] - classes[0]) > 0.1, said[0]
    for other in said[1:]:
        for one, many in zip(said[0], other):
            assert all(abs(a - b) <= 2e-5 for a, b in zip(one, many)), (said[0], other)


run(globals())
