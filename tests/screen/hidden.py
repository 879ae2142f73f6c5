#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random secrets, told by cells in all ways, are not on the drawn screen: not even 12 characters of one. FIRESTEEL_SEED repeats a run."""
import random

import hidden_cases as cases
from bench import folder, leave
from screen import Screen
from tap import FIRESTEEL, run, sh

PAGES = 120  # more than any of these notebooks has


def drawn(s):
    """What is on the screen; the rows also without a break, since a long text goes on in the next row."""
    rows = s.screen()
    return "\n".join(rows) + "\n" + "".join(row.strip(" │") for row in rows)


def look(s, search, seed):
    """Pages through all that is shown, from its first row to its last; how many screens there were."""
    s.keys("g g")
    s.quiet()
    before = None
    for page in range(PAGES):
        now = drawn(s)
        part = search.found(now)
        assert part is None, f"FIRESTEEL_SEED={seed}: the screen shows a part of a secret: {part}\n{now}"
        if now == before:
            return page
        before = now
        s.keys("PgDn")
        s.quiet(60)
    raise AssertionError(f"the end was not reached: {before}")


def test_no_screen_shows_a_part_of_a_secret(t):
    seed = cases.seed()
    print(f"# FIRESTEEL_SEED={seed}")
    rng = random.Random(seed)
    secrets = [cases.secret(rng) for _ in range(7)]
    env, search = cases.variables(secrets), cases.Search(secrets)
    asks = "print(select(2, pcall(secret, T)))"  # its question, here, waits for a person
    others = [tell for tell in cases.TELLS if tell != asks]
    tells = [asks, *rng.sample(others, len(others)), "error(T)"]
    where = folder(t, cases.notebook(rng, secrets, tells))
    with Screen([FIRESTEEL, "small.lua"], cwd=where, size="100x40", seconds=60, env=env) as s:
        s.wait("idle")
        s.keys("R")
        s.wait("cell 0 asks")
        part = search.found(drawn(s))
        assert part is None, f"FIRESTEEL_SEED={seed}: the question shows a part of a secret: {part}\n{drawn(s)}"
        s.keys("x Enter")
        s.wait(f"[{len(tells)}] cell {len(tells) - 1}")
        assert look(s, search, seed) > 5
        leave(s)
    done = sh(FIRESTEEL, "show", cwd=where)
    assert search.found(done.out + done.err) is None, seed
    with Screen([FIRESTEEL, "show", "--open"], cwd=where, size="60x24", seconds=60) as s:  # without the variables: a journal has none
        s.wait(" cell ")
        assert look(s, search, seed) > 5
        leave(s)


if __name__ == "__main__":
    run(globals())
