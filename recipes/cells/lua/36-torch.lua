-- a script in Python as torchrun starts it, on two ranks; its metrics become curves

-- %% Script file="train.py" language="python"
-- import os
-- # Here goes your PyTorch: torch.distributed.init_process_group("gloo"), DistributedDataParallel, …
-- rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
-- print(f"rank {rank} of {size}, rendezvous {os.environ['MASTER_ADDR']}")
-- if rank == 0:
--     for epoch in range(3):
--         print(f"epoch={epoch} loss={1 / (epoch + 1):.4f}")

-- %% Torch
job = torch.run { "train.py", nproc = 2 } -- on = k8s.trainjob { runtime = "torch-distributed" }: on a cluster
job.metrics
