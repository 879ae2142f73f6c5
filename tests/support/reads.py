# SPDX-License-Identifier: MIT
"""Files as we read them, beside those whose files they are: kubectl, client-go, BuildKit, moby (tests/support/reads)."""
import json
import os
import shutil

from tap import BUILD, CACHE, SOURCE, Skip, sh

OURS = os.path.join(BUILD, "tests", "wire", "reads")


def read(program, mode, paths):
    """{path: what it makes of the file}."""
    done = sh(program, mode, input="".join(f"{p}\n" for p in paths), timeout=300)
    assert done.code == 0, done
    return {path: json.loads(text) for path, text in (line.split("\t", 1) for line in done.out.splitlines())}


def both(mode, paths):
    """(theirs, ours), each as from read()."""
    done = sh(os.path.join(SOURCE, "tests/support/tool-reads"), CACHE, timeout=900)
    if done.code == 77:
        raise Skip(done.err.strip())
    assert done.code == 0, done
    return read(os.path.join(CACHE, "bin", "reads"), mode, paths), read(OURS, mode, paths)


def has_go():
    return shutil.which("go") is not None
