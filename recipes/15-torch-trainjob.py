# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A PyTorch function on several ranks
# Recipe 15 from Python: the training is a function of a cell. It travels as its text, so it imports what it needs itself.
#
#     firesteel run recipes/15-torch-trainjob.py -p interpreter=/usr/bin/python3
#     firesteel run recipes/15-torch-trainjob.py -p on=trainjob -p claim=checkpoints --context NAME --allow cluster

# %% tags=["parameters"]
on = "here"  # here, trainjob, jobset, rayjob or jobs
nodes = 2
epochs = 3
samples = 60000  # of the training
interpreter = "python3"  # one that has PyTorch, where the ranks are
runtime = "torch-distributed"  # of trainjob
runtime_kind = "ClusterTrainingRuntime"
image = None  # with PyTorch and the data; None: the runtime's
claim = None  # for checkpoints; None: the runtime's pods have the folder
folder = "/checkpoints"
data = "/data/mnist"
cpu = "500m"

# %% [markdown]
# ## The training

# %% The function
def train(data, checkpoint, epochs, samples=60000, batch=256, lose=-1):
    import gzip
    import os
    import signal

    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    def idx(folder, name):
        """The tensor in a file of MNIST's: a magic number, sizes, bytes."""
        with gzip.open(os.path.join(folder, name + ".gz")) as f:
            data = bytearray(f.read())
        shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(data[3])]
        return torch.frombuffer(data, dtype=torch.uint8, offset=4 + 4 * len(shape)).reshape(shape)


    def mnist(folder, part):
        return idx(folder, part + "-images-idx3-ubyte").flatten(1) / 255.0, idx(folder, part + "-labels-idx1-ubyte").long()

    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    begun = 0
    if os.path.exists(checkpoint):
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        begun = saved["epoch"]
        print(f"resumed after epoch {begun}")
    dist.barrier()  # nobody writes a checkpoint that another one is still to look for
    parallel = DistributedDataParallel(model)
    x, y = (part[:samples] for part in mnist(data, "train"))
    test_x, test_y = mnist(data, "t10k")

    for epoch in range(begun + 1, epochs + 1):
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
        total = steps = 0
        for at in range(0, len(x) - batch + 1, batch):
            mine = order[at:at + batch][rank::size]
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(parallel(x[mine]), y[mine])
            loss.backward()
            optimizer.step()
            total, steps = total + loss.item(), steps + 1
            if epoch == 2 and rank == lose and steps == 10:
                os.kill(os.getpid(), signal.SIGKILL)
        if rank == 0:
            with torch.no_grad():
                accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
            print(f"epoch={epoch}/{epochs} loss={total / steps:.4f} val_accuracy={accuracy:.4f}")
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, checkpoint + ".new")
            os.replace(checkpoint + ".new", checkpoint)
    dist.barrier()


# %% [markdown]
# ## Where it runs

# %% The engine
import uuid

import firesteel

mark = uuid.uuid4().hex[:8]  # of this run's checkpoints
if on == "here":
    engine, folder, data = None, ".", firesteel.data("mnist")
else:
    options = {"image": image, "cpu": cpu, "volumes": {claim: folder} if claim else None}
    if on == "trainjob":
        options.update(runtime=runtime, runtime_kind=runtime_kind)
    engine = getattr(firesteel.k8s, on)(**options)


def trained(name, ranks, **more):
    given = {"data": data, "checkpoint": f"{folder}/{name}-{mark}.pt", "epochs": epochs, "samples": samples, **more}
    return firesteel.torch.run(train, nodes=ranks, on=engine, python=interpreter, args=given)


# %% One rank timeout="15m"
one = trained("one", 1)
one

# %% Several timeout="15m"
several = trained("several", nodes)
several

# %% [markdown]
# ## A rank is lost
# It is killed in its second epoch. The error names it; the checkpoint of the first epoch stays.

# %% Lost timeout="15m"
try:
    trained("lost", nodes, lose=nodes - 1)
except firesteel.Error as failed:
    why = str(failed)
print(why)

# %% Resumed timeout="15m"
resumed = trained("lost", nodes)
resumed

# %% Check
accuracy = [job.metrics["val_accuracy"] for job in (one, several, resumed)]
print("val_accuracy: one rank {:.4f}, several {:.4f}, resumed {:.4f}".format(*accuracy))
assert f"rank {nodes - 1} was ended by signal 9 (SIGKILL)" in why, why
assert "resumed after epoch 1" in resumed.output and len(resumed.history) == epochs - 1
assert accuracy[0] >= (0.95 if epochs >= 3 and samples == 60000 else 0.8) and max(accuracy) - min(accuracy) <= 0.005
