# SPDX-License-Identifier: MIT
"""Image stores that know the layer with the worker, as those of people who have built an image before: what a home that is
new would compress for 2 s of processors (libmpich alone has 40 MB), each time. An image's manifests, other layers and its
push are made as ever; tests/wire/image.py makes whole images."""
import fcntl
import os
import shutil
import subprocess
import tempfile

from tap import BUILD, FIRESTEEL

NOTEBOOK = 'image.build { tag = "layers:1" }\n'
WHAT_IS_KNOWN = ("blobs/sha256", ".firesteel/layers")


def link(source, target):
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy(source, target)


def built():
    """The store in which this build's worker is a layer: made once."""
    kept = os.path.join(BUILD, "tests", "layers")
    made_of = max(os.path.getmtime(os.path.join(BUILD, *name)) for name in (("cli", "firesteel-worker"), ("cli", "firesteel-kernel")))
    with open(kept + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(kept) or os.path.getmtime(kept) < made_of:
            shutil.rmtree(kept, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=os.path.dirname(kept)) as folder:
                with open(f"{folder}/n.lua", "w", encoding="utf-8") as f:
                    f.write(NOTEBOOK)
                env = {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder}
                subprocess.run([FIRESTEEL, "run", "n.lua"], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True)
                os.rename(f"{folder}/firesteel/images", kept)
            os.utime(kept)
    return kept


def know_worker(data_home):
    """Puts the layer into the store of this $XDG_DATA_HOME; an image is in none before it is built."""
    store = built()
    for part in WHAT_IS_KNOWN:
        os.makedirs(f"{data_home}/firesteel/images/{part}", exist_ok=True)
        for name in os.listdir(f"{store}/{part}"):
            if not os.path.exists(f"{data_home}/firesteel/images/{part}/{name}"):
                link(f"{store}/{part}/{name}", f"{data_home}/firesteel/images/{part}/{name}")
