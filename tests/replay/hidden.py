#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random secrets, told by cells in all ways, are in no way out: not even 12 bytes of one. FIRESTEEL_SEED repeats a run."""
import glob
import json
import os
import random

import hidden_cases as cases
from tap import FIRESTEEL, run, sh

ROUNDS = 3


def write(t, text):
    path = os.path.join(t.dir(), "sample.lua")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def left(folder):
    """(name, bytes) of each file that runs have left."""
    for path in sorted(glob.glob(folder + "/**", recursive=True, include_hidden=True)):
        if os.path.isfile(path) and not path.endswith("sample.lua"):
            with open(path, "rb") as f:
                yield os.path.relpath(path, folder), f.read()
            yield "the name " + os.path.relpath(path, folder), path.encode()


def check(search, seed, name, text):
    part = search.found(text)
    assert part is None, f"FIRESTEEL_SEED={seed}: {name} shows a part of a secret: {part}"


def everywhere(search, seed, path, env):
    folder = os.path.dirname(path)
    reports = [f"--report={folder}/report.{kind}" for kind in ("html", "md", "ipynb", "xml")]
    done = sh(FIRESTEEL, "run", path, *reports, env=env)
    assert done.code in (0, 1), (seed, done.err)
    check(search, seed, "run", done.out + done.err)
    for words in (["show"], ["runs", "-o", "json"], ["export", "--to", "json"], ["export", "--to", "mlflow"], ["diff", "newest", "newest"]):
        done = sh(FIRESTEEL, *words, cwd=folder, env=env)
        assert done.code == 0, (seed, words, done)
        check(search, seed, " ".join(words), done.out + done.err)
    for name, text in left(folder):
        check(search, seed, name, text)


def test_no_way_out_shows_a_part_of_a_secret(t):
    seed = cases.seed()
    print(f"# FIRESTEEL_SEED={seed}")
    for i in range(ROUNDS):
        rng = random.Random(seed + i)
        secrets = [cases.secret(rng) for _ in range(7)]
        tells = rng.sample(cases.TELLS, len(cases.TELLS)) + [rng.choice(cases.FAILS)]
        path = write(t, cases.notebook(rng, secrets, tells))
        everywhere(cases.Search(secrets), seed, path, cases.variables(secrets))


def test_each_failure_hides_it(t):
    seed = cases.seed()
    print(f"# FIRESTEEL_SEED={seed}")
    rng = random.Random(seed)
    for source in cases.FAILS:
        secrets = [cases.secret(rng) for _ in range(2)]
        path = write(t, cases.notebook(rng, secrets, [source], ""))
        done = sh(FIRESTEEL, "run", path, "-o", rng.choice(["plain", "json", "junit"]), env=cases.variables(secrets))
        assert done.code == 1, (seed, source, done)
        search = cases.Search(secrets)
        check(search, seed, source, done.out + done.err)
        for name, text in left(os.path.dirname(path)):
            check(search, seed, f"{source}: {name}", text)


def test_what_is_cut_in_its_middle_hides_it(t):
    """An output of more than a MiB is kept by its ends."""
    seed = cases.seed()
    print(f"# FIRESTEEL_SEED={seed}")
    rng = random.Random(seed)
    secrets = [cases.secret(rng) for _ in range(4)]
    half = 512 << 10
    cells = []
    for i, data in enumerate(secrets):
        before, after = half - rng.randrange(len(data)), half - rng.randrange(len(data))
        cells.append(f"-- %% {i}\nlocal S = os.getenv 'X{i}_TOKEN'\n"
                     f"fs.write('big{i}', ('x'):rep({before}) .. S .. ('y'):rep(100000) .. S .. ('z'):rep({after}))\n"
                     f"local got = sh('cat big{i}; rm big{i}', {{ quiet = true }})\nprint(#got.output)\n")
    path = write(t, "\n".join(cells))
    done = sh(FIRESTEEL, "run", path, env=cases.variables(secrets))
    assert done.code == 0, done
    search = cases.Search(secrets)
    for name, text in left(os.path.dirname(path)):
        check(search, seed, name, text)


def test_parameters_and_what_takes_their_place(t):
    seed = cases.seed()
    print(f"# FIRESTEEL_SEED={seed}")
    rng = random.Random(seed)
    for _ in range(3):
        values = [next(s for s in iter(lambda: cases.secret(rng), None) if s.isascii() and len(s) > 11) for _ in range(9)]
        v = [cases.lua(s) for s in values]
        path = write(t, f"""\
-- %% Parameters tags=["parameters"]
db_password = {v[0]} -- a comment
token = {{ value = {v[1]}, more = {{ {v[2]} }} }}
db = {{
  user = "ann", -- with a secret
  password = {{ current = {v[3]} }},
}}
api_key = [==[
{values[4].decode()}]==]

-- %% use
local auth_token <const> = {v[5]}
local login = {{ user = os.getenv "USER", ["password"] = {v[6]} }}
print(db_password, token.value, token.more[1], db.password.current, api_key, auth_token, login.password)
display.table {{ token, db }}
error(db.password.current)
""")
        env = {"HOME": t.dir()}
        given = json.dumps({"value": values[7].decode(), "more": []}), values[8].decode()
        search = cases.Search(values)
        for extra in ([], ["-p", "token=" + given[0], "-p", "db_password=" + given[1], "-p", 'db={"user": "bob"}', "-p", "api_key=other-key-of-it"]):
            done = sh(FIRESTEEL, "run", path, *extra, env=env)
            assert done.code == 1, (seed, done)
            check(search, seed, "run", done.out + done.err)
            for words in (["show"], ["export", "--to", "md"], ["export", "--to", "ipynb"], ["export", "--to", "html"], ["runs", "-o", "json"]):
                check(search, seed, " ".join(words), sh(FIRESTEEL, *words, cwd=os.path.dirname(path)).out)
            done = sh(FIRESTEEL, "run", path, "--help-notebook")
            check(search, seed, "--help-notebook", done.out + done.err)
            for name, text in left(os.path.dirname(path)):
                check(search, seed, name, text)


if __name__ == "__main__":
    run(globals())
