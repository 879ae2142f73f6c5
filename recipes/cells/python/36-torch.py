# a function in Python as torchrun starts a script, on two ranks; its metrics become curves

# %% Torch
from firesteel import torch


def train(epochs):
    import os  # it travels as its text: what it uses is imported in it

    # Here goes your PyTorch: torch.distributed.init_process_group("gloo"), DistributedDataParallel, …
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    print(f"rank {rank} of {size}, rendezvous {os.environ['MASTER_ADDR']}")
    for epoch in range(epochs if rank == 0 else 0):
        print(f"epoch={epoch} loss={1 / (epoch + 1):.4f}")


job = torch.run(train, nproc=2, args=[3])  # on=k8s.trainjob(runtime="torch-distributed"): on a cluster
job.metrics
