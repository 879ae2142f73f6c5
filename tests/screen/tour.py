#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`firesteel tour`: its ten steps by keys, as they say; leaving it and coming back; starting over; its folder."""
import os
import time

from bench import folder, opens, text
from screen import Screen
from tap import FIRESTEEL, SOURCE, eventually, run, sh, stop_kernels

ALLOW = ("--sandbox", "--allow", "cluster,destructive")


def home(t):
    t.after(stop_kernels)
    return {"XDG_STATE_HOME": t.dir(), "KUBECONFIG": "/nonexistent"}


def tour(t, env, *argv, cwd=None):
    s = Screen([FIRESTEEL, "tour", *argv], cwd=cwd or t.dir(), size="100x44", seconds=20, env=env)
    s.wait("● idle")
    return s


def leave(s):
    s.keys("q")
    assert s.exit() == "exit 0"


def title(s):
    """The first row of the selected cell."""
    return next(row for row in s.screen() if row.startswith("▌"))


def goes_to(s, words):
    """Ctrl-R on the text of a step: its cell is selected."""
    s.keys("C-r")
    eventually(lambda: words in title(s))


def yes(s):
    s.wait("may it do this?")
    time.sleep(0.8)
    s.keys("y")


def test_the_ten_steps(t):
    env, elsewhere = home(t), t.dir()
    with tour(t, env, cwd=elsewhere) as s:
        s.wait("A tour in ten steps")
        s.wait("sandbox/default")
        s.keys("C-r")
        goes_to(s, "1 Run")
        s.keys("C-r")
        s.wait("the answer is 42")
        goes_to(s, "2 Deploy")
        s.keys("C-r")
        yes(s)
        s.wait("Running")
        opens(s, "pods", "pods in default", "counter-0", "counter-2")
        s.keys("q")
        s.wait("COMMAND")
        goes_to(s, "3 Objects")
        s.keys("C-r")
        s.wait("0/3")
        goes_to(s, "4 Logs")
        s.keys("C-r")
        s.wait("pod 2 counts ")
        opens(s, "pods", "pods in default", "counter-2")
        s.keys("* l")
        s.wait("counter-2")
        s.wait(" counts ")
        s.gone("pods in default")
        s.keys("q q")
        s.wait("COMMAND")
        goes_to(s, "5 Broken")
        s.keys("C-r")
        yes(s)
        s.wait("image nowhere:1 is not in the local store")
        goes_to(s, "6 An hour")
        s.keys("C-e")
        s.wait("second 2")
        s.keys("C-c")
        s.wait("interrupted in line")
        s.keys("j")
        goes_to(s, "7 A run")
        s.keys("C-r")
        s.wait(", verified")
        s.wait("ok: 4 cells ok")
        goes_to(s, "8 Another")
        s.keys("C-r")
        s.wait("lr: 0.1 → 0.3")
        s.keys("g h")
        s.wait("Runs of tour.lua")
        s.keys("a")
        s.wait("Runs of all in tour")
        s.keys("g g c")
        s.wait("params")
        s.keys("q q")
        s.wait("COMMAND")
        goes_to(s, "9 Clean up")
        s.keys("C-r")
        yes(s)
        s.gone("may it do this?")
        yes(s)
        s.wait("[9] 9 Clean up")
        s.gone("counter  ")
        leave(s)
    with tour(t, env, cwd=elsewhere) as s:
        eventually(lambda: "9 Clean up" in title(s))
        s.keys("j")
        goes_to(s, "10 Still there")
        s.keys("C-r")
        s.wait("the answer is still 42")
        leave(s)
    assert not os.listdir(elsewhere), "nothing is written where one is"
    own = os.path.join(env["XDG_STATE_HOME"], "firesteel", "tour")
    assert sorted(os.listdir(own)) == [".firesteel", "data.txt", "ready", "steps.lua", "tour.lua"]
    assert os.stat(own).st_mode & 0o077 == 0, "nobody else can enter it"


def test_after_its_kernel_has_ended_it_goes_on_where_it_was_and_new_starts_over(t):
    env = home(t)
    with tour(t, env) as s:
        s.keys("C-r C-r C-r")
        s.wait("the answer is 42")
        opens(s, "stop")
        s.exit()
    with tour(t, env) as s:
        s.wait("the answer is 42")  # what the last run left
        eventually(lambda: "1 Run" in title(s))
        s.keys("g g b")
        s.keys("C-s")
        s.wait("saved /")
        leave(s)
    with tour(t, env, "--new") as s:  # the kernel was alive
        s.wait("A tour in ten steps")
        assert "the answer is 42" not in text(s) and "A tour in ten steps" in title(s), text(s)
        leave(s)


def test_another_folder_is_used_when_it_is_named(t):
    env, where = home(t), folder(t, "mine = 1\n", "tour.lua")
    refused = sh("script", "-qec", f"{FIRESTEEL} tour --cwd {where}", "/dev/null", env=env)
    assert "is another notebook: the tour wants another folder" in refused.out, refused
    with open(os.path.join(where, "tour.lua"), encoding="utf-8") as f:
        assert f.read() == "mine = 1\n"
    os.rename(os.path.join(where, "tour.lua"), os.path.join(where, "kept.lua"))
    with tour(t, env, "--cwd", where) as s:
        s.wait("A tour in ten steps")
        leave(s)
    assert os.path.exists(os.path.join(where, "tour.lua")) and not os.path.exists(os.path.join(env["XDG_STATE_HOME"], "firesteel", "tour"))
    with tour(t, env, "--new", "--cwd", where) as s:
        s.wait("A tour in ten steps")
        leave(s)
    assert os.path.exists(os.path.join(where, "kept.lua")), "only its own files are written again"


def test_it_is_in_the_list_and_asks_where_users_may_make_no_namespaces(t):
    env, programs = home(t), t.dir()
    with open(os.path.join(programs, "bwrap"), "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nexit 1\n")
    os.chmod(f.name, 0o755)
    env["PATH"] = programs + ":" + os.environ["PATH"]
    with Screen([FIRESTEEL], cwd=t.dir(), size="100x30", seconds=20, env=env) as s:
        s.wait("the workbench in ten steps, in a sandbox")
        s.keys("/")
        s.type("ten steps")
        s.keys("Enter Enter")
        s.wait("No namespaces here")
        s.wait("not now")
        s.keys("Enter")
        s.wait("A tour in ten steps")
        s.wait("● idle")
        s.keys("C-r C-r C-r C-r C-r")
        s.wait("firesteel-sandbox-processes")
        yes(s)
        s.wait("Running")
        leave(s)


def test_without_a_terminal_it_says_so(t):
    done = sh(FIRESTEEL, "tour", env=home(t), input="")
    assert done.code == 2 and "it needs a terminal" in done.err, done


def test_all_its_cells_run_headless(t):
    env, where = home(t), t.dir()
    env["PATH"] = os.path.dirname(FIRESTEEL) + ":" + os.environ["PATH"]
    recipes = os.path.join(SOURCE, "recipes", "tour")
    for name in "tour.lua", "steps.lua":
        with open(os.path.join(recipes, name), encoding="utf-8") as source, open(os.path.join(where, name), "w", encoding="utf-8") as copy:
            copy.write(source.read())
    done = sh(FIRESTEEL, "run", "tour.lua", *ALLOW, cwd=where, env=env)
    assert done.code == 0 and "the answer is still 42" in done.out and ", verified" in done.out, done


run(globals())
