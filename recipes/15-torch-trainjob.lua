-- ---
-- jupyter:
--   jupytext:
--     text_representation:
--       extension: .lua
--       format_name: percent
--       format_version: '1.3'
--       jupytext_version: 1.19.6
--   kernelspec:
--     display_name: Firesteel (Lua)
--     language: lua
--     name: firesteel
-- ---

-- %% [markdown]
-- # A PyTorch script on several ranks
-- DistributedDataParallel on MNIST, as the script that one runs with torchrun. It is tried here, and runs as a TrainJob of
-- Kubeflow's Trainer, as a JobSet or by plain Jobs. A rank is killed, named, and the training goes on from its checkpoint.
--
--     firesteel run recipes/15-torch-trainjob.lua -p python=/usr/bin/python3
--     firesteel run recipes/15-torch-trainjob.lua -p on=trainjob -p claim=checkpoints --context NAME --registry HOST --allow cluster
--
-- It needs PyTorch (Debian's `python3-torch`, or `pip install torch`). On a cluster it needs an image with PyTorch, which
-- a runtime of Kubeflow's names, and a claim for checkpoints that all nodes can mount.

-- %% tags=["parameters"]
on = "here"                       -- here, trainjob, jobset, rayjob or jobs
nodes = 2
epochs = 3
samples = 60000                   -- of the training
python = "python3"
runtime = "torch-distributed"     -- of trainjob
runtime_kind = "ClusterTrainingRuntime"
base = nil                        -- an image with PyTorch, to which the data is added; nil: the runtime's image, which has it
tag = "firesteel/torch-mnist:1"   -- goes to --registry's or the context's
claim = nil                       -- a claim for checkpoints; nil: the runtime's pods have the folder
folder = "/checkpoints"           -- where that is
data = "/data/mnist"              -- where the pods have the data
cpu = "500m"
queue = nil                       -- a LocalQueue of Kueue
namespace = nil                   -- nil: the context's

-- %% [markdown]
-- ## The script
-- Nothing in it is firesteel's. The batch is that of all ranks together, so that one rank and two learn the same.

-- %% The script file="mnist_ddp.py" language="python"
-- import argparse
-- import gzip
-- import os
-- import signal
--
-- import torch
-- import torch.distributed as dist
-- from torch.nn.parallel import DistributedDataParallel
--
--
-- def idx(folder, name):
--     """The tensor in a file of MNIST's: a magic number, sizes, bytes."""
--     with gzip.open(os.path.join(folder, name + ".gz")) as f:
--         data = bytearray(f.read())
--     shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(data[3])]
--     return torch.frombuffer(data, dtype=torch.uint8, offset=4 + 4 * len(shape)).reshape(shape)
--
--
-- def mnist(folder, part):
--     return idx(folder, part + "-images-idx3-ubyte").flatten(1) / 255.0, idx(folder, part + "-labels-idx1-ubyte").long()
--
--
-- parser = argparse.ArgumentParser()
-- parser.add_argument("--data", required=True)
-- parser.add_argument("--checkpoint", required=True)
-- parser.add_argument("--epochs", type=int, default=3)
-- parser.add_argument("--samples", type=int, default=60000, help="of the training, the first ones")
-- parser.add_argument("--batch", type=int, default=256, help="of all ranks together")
-- parser.add_argument("--lose", type=int, default=-1, help="this rank is killed in the second epoch")
-- given = parser.parse_args()
--
-- dist.init_process_group("gloo")
-- rank, size = dist.get_rank(), dist.get_world_size()
-- torch.manual_seed(1)
-- model = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
-- optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
-- begun = 0
-- if os.path.exists(given.checkpoint):
--     saved = torch.load(given.checkpoint)
--     model.load_state_dict(saved["model"])
--     optimizer.load_state_dict(saved["optimizer"])
--     begun = saved["epoch"]
--     print(f"resumed after epoch {begun}")
-- dist.barrier()  # nobody writes a checkpoint that another one is still to look for
-- parallel = DistributedDataParallel(model)
-- x, y = (part[:given.samples] for part in mnist(given.data, "train"))
-- test_x, test_y = mnist(given.data, "t10k")
--
-- for epoch in range(begun + 1, given.epochs + 1):
--     order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
--     total = steps = 0
--     for at in range(0, len(x) - given.batch + 1, given.batch):
--         mine = order[at:at + given.batch][rank::size]
--         optimizer.zero_grad()
--         loss = torch.nn.functional.cross_entropy(parallel(x[mine]), y[mine])
--         loss.backward()
--         optimizer.step()
--         total, steps = total + loss.item(), steps + 1
--         if epoch == 2 and rank == given.lose and steps == 10:
--             os.kill(os.getpid(), signal.SIGKILL)
--     if rank == 0:
--         with torch.no_grad():
--             accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
--         print(f"epoch={epoch}/{given.epochs} loss={total / steps:.4f} val_accuracy={accuracy:.4f}")
--         torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, given.checkpoint + ".new")
--         os.replace(given.checkpoint + ".new", given.checkpoint)
-- dist.barrier()

-- %% [markdown]
-- ## Where it runs

-- %% The engine
if on == "here" then
  data, folder = firesteel.data "mnist", "."
else
  image = base and image.build { from = base, add = { [firesteel.data "mnist"] = data }, tag = tag, worker = false }:push() or nil
  options = { image = image, namespace = namespace, cpu = cpu, queue = queue, volumes = claim and { [claim] = folder } or nil }
  if on == "trainjob" then options.runtime, options.runtime_kind = runtime, runtime_kind end
  engine = assert(k8s[on], "on is here, trainjob, jobset, rayjob or jobs")(options)
end

function train(name, ranks, more)
  local args = { data = data, checkpoint = ("%s/%s-%s.pt"):format(folder, name, firesteel.run), epochs = epochs, samples = samples }
  for key, value in pairs(more or {}) do args[key] = value end
  return torch.run { "mnist_ddp.py", nodes = ranks, on = engine, python = python, args = args, start_timeout = "5m" }
end

-- %% [markdown]
-- ## One rank, and several

-- %% One rank timeout="15m"
one = train("one", 1)
one

-- %% Several timeout="15m"
several = train("several", nodes)
several

-- %% [markdown]
-- ## A rank is lost
-- It is killed in its second epoch. The error names it; the checkpoint of the first epoch stays.

-- %% Lost timeout="15m"
ok, why = pcall(train, "lost", nodes, { lose = nodes - 1 })
print(why)

-- %% Resumed timeout="15m"
resumed = train("lost", nodes)
resumed

-- %% [markdown]
-- ## What it has learnt
-- Several ranks reach the accuracy of one within half a point, and so does the training that was lost and resumed.

-- %% Check
print(("val_accuracy: one rank %.4f, %d ranks %.4f, resumed %.4f"):format(one.metrics.val_accuracy, nodes, several.metrics.val_accuracy,
  resumed.metrics.val_accuracy))
expect(why):contains(("rank %d was ended by signal 9 (SIGKILL)"):format(nodes - 1))
expect(resumed.output):contains "resumed after epoch 1"
expect(#resumed.history):equals(epochs - 1)
expect(one.metrics.val_accuracy):at_least(epochs >= 3 and samples == 60000 and 0.95 or 0.8)
for _, job in ipairs { several, resumed } do
  expect(math.abs(job.metrics.val_accuracy - one.metrics.val_accuracy)):at_most(0.005)
end
