# SPDX-License-Identifier: MIT
"""Scripts in Python on nodes of torch.run, for the cases: their pods are busybox's with the Python of this machine."""
import os

from images import BUSYBOX

# The pods see /usr, /lib and /lib64 of this machine: a template that any engine takes.
MOUNTED = ("usr", "lib", "lib64")
TEMPLATE = "{ spec = { volumes = { " + ", ".join(f'{{ name = "{n}", hostPath = {{ path = "/{n}" }} }}' for n in MOUNTED) + \
    " }, containers = { { volumeMounts = { " + ", ".join(f'{{ name = "{n}", mountPath = "/{n}", readOnly = true }}' for n in MOUNTED) + " } } } } }"
ON = f'image = "{BUSYBOX}", pull_policy = "Never", cpu = "50m", memory = "128Mi", env = {{ PATH = "/usr/bin:/bin" }}, template = {TEMPLATE}'

# Ranks find one another by MASTER_ADDR, as PyTorch's do.
MEET = """\
import os, socket, sys, time
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
at = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    with socket.create_server(("", at[1])) as server:
        peers = [server.accept()[0] for _ in range(size - 1)]
        for peer in peers:
            peer.sendall(b"all are here")
            peer.close()
else:
    until = time.monotonic() + 60
    while True:
        try:
            with socket.create_connection(at) as peer:
                assert peer.makefile().read() == "all are here"
            break
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.1)
if "--fail" in sys.argv and rank == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    raise RuntimeError("no more disk")
import more.own
print("here rank %d of %d, local %s of %s, node %s, %s, %s, %s" % (rank, size, os.environ["LOCAL_RANK"], os.environ["LOCAL_WORLD_SIZE"],
      os.environ["NODE_RANK"], sys.argv[1:], os.environ.get("COLOUR"), more.own.NAME))
for epoch in (1, 2):
    print("epoch=%d loss=%g" % (epoch, 1 / epoch))
if "--fail" in sys.argv and rank == 0 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    time.sleep(60)
"""


def with_python(place):
    """Its folder has a module of the script's own, too."""
    os.makedirs(f"{place.dir}/more")
    with open(f"{place.dir}/more/own.py", "w", encoding="utf-8") as f:
        f.write('NAME = "own"\n')
    return place
