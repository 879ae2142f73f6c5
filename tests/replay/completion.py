#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Completion in bash, zsh and fish: each is asked in the shell itself, and offers what the program's help has."""
import os
import pty
import re
import select
import shutil
import signal
import time

from tap import FIRESTEEL, PATIENCE, SOURCE, Skip, run, sh

SCRIPTS = os.path.join(SOURCE, "cli", "install")
ENV = {"PATH": os.path.dirname(FIRESTEEL) + os.pathsep + os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "dumb"}


def with_run(t):
    folder = t.dir()
    with open(folder + "/n.lua", "w", encoding="utf-8") as f:
        f.write("-- %%\nprint(1)\n")
    assert sh(FIRESTEEL, "run", "n.lua", cwd=folder).code == 0
    return folder, sh(FIRESTEEL, "runs", cwd=folder).out.splitlines()[1].split()[0]


def options_of(verb):
    return set(re.findall(r"^  (?:-\w,|   ) (--[a-z-]+)", sh(FIRESTEEL, verb, "--help").out, re.M)) - {"--help"}


def verbs():
    return set(re.findall(r"^  ([a-z][a-z-]*) ", sh(FIRESTEEL, "--help").out, re.M))


def needs(shell):
    if not shutil.which(shell):
        raise Skip(f"{shell} is not installed (.ci/packages)")


def check(ask, name):
    """ask(line) gives the words that a shell offers for the end of the line."""
    assert "port-forward" in verbs()
    assert verbs() <= set(ask("firesteel ")), (verbs(), ask("firesteel "))
    for verb in ("run", "runs", "prune"):
        assert options_of(verb) == {w for w in ask(f"firesteel {verb} --") if w.startswith("--")}, (verb, ask(f"firesteel {verb} --"))
    assert ask("firesteel show n-") == [name] and ask("firesteel run n.lua --resume n-") == [name]
    assert sorted(ask("firesteel run --allow ")) == ["cluster", "cluster,destructive", "destructive"]
    assert sorted(ask("firesteel export x --to m")) == ["md", "mlflow"]
    assert ask("firesteel export x --to js") == ["json"]
    assert sorted(ask("firesteel convert x --to ")) == ["html", "ipynb", "lua", "md", "py"]


def test_bash(t):
    folder, name = with_run(t)

    def ask(line):
        words = line.split(" ")
        script = (f"compopt() {{ :; }}; source {SCRIPTS}/firesteel.bash; COMP_WORDS=({' '.join(w or chr(39) * 2 for w in words)}); "
                  f"COMP_CWORD={len(words) - 1}; _firesteel; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        return [w for w in sh("bash", "-c", script, cwd=folder, env=ENV).out.split() if w]
    check(lambda line: sorted(set(ask(line)) - {"--help"}), name)


def test_fish(t):
    needs("fish")
    folder, name = with_run(t)

    def ask(line):
        script = f"source {SCRIPTS}/firesteel.fish; complete -C '{line}'"
        done = sh("fish", "--no-config", "-c", script, cwd=folder, env={**ENV, "HOME": folder})
        assert not done.err, done
        return [row.split("\t")[0] for row in done.out.splitlines() if row.split("\t")[0] != "--help"]
    check(ask, name)


ZSH = """\
fpath=({scripts} $fpath)
autoload -Uz compinit; compinit -u -D
autoload -Uz _firesteel; compdef _firesteel firesteel
compadd() {{ # what is offered, instead of a menu
    if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
    local -a hits; builtin compadd -O hits "$@"
    print -l -- $hits >> {out}
}}
ask() {{ print -rn > {out}; }}
bindkey '^I' complete-word
PS1='ready> '
"""


def test_zsh(t):
    needs("zsh")
    folder, name = with_run(t)
    scripts, out = t.dir(), t.dir() + "/offered"
    shutil.copy(SCRIPTS + "/firesteel.zsh", scripts + "/_firesteel")
    with open(folder + "/.zshrc", "w", encoding="utf-8") as f:
        f.write(ZSH.format(scripts=scripts, out=out))

    def ask(line):
        open(out, "w", encoding="utf-8").close()
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execvpe("zsh", ["zsh", "-i"], {**os.environ, **ENV, "ZDOTDIR": folder, "HOME": folder})
        seen, asked, until = "", False, time.monotonic() + 20 * PATIENCE
        while time.monotonic() < until:
            if select.select([fd], [], [], 0.1)[0]:
                seen += os.read(fd, 4096).decode(errors="replace")
            if not asked and "ready> " in seen:
                os.write(fd, (line + "\t").encode() + b"\x15print do''ne\n")
                asked = True
            if asked and re.search(r"^done\r?$", seen, re.M):
                break
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(fd)
        with open(out, encoding="utf-8") as f:
            return sorted(set(f.read().split()) - {"--help", "n.lua"})
    check(ask, name)


if __name__ == "__main__":
    run(globals())
