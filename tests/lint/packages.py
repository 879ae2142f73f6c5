# SPDX-License-Identifier: MIT
""".ci/install on machines that are played by stand-ins of apt-get and dnf: names differ, what is optional stops nothing."""
import os
import re
import shutil

from tap import SOURCE, run, sh

INSTALL = os.path.join(SOURCE, ".ci", "install")
PACKAGES = os.path.join(SOURCE, ".ci", "packages")
TOOLS = ("bash", "awk", "grep", "dirname", "readlink", "tr", "env")
APT = {
    "apt-get": '[ "$1" = install ] || exit 0\nfor p; do case $p in -*|install) ;; *) grep -qx "$p" {known} || exit 100; echo "$p" >> {installed};; esac; done',
    "apt-cache": 'grep -x "$2" {known}',
    "dpkg-query": 'for p; do :; done\ngrep -qx "$p" {installed} && echo installed',
}
DNF = {
    "dnf": 'case $1 in -q) grep -qx "$3" {known};; *) for p; do case $p in -*|install) ;; *) grep -qx "$p" {known} || exit 1; echo "$p" >> {installed};; esac; done;; esac',
    "rpm": 'grep -qx "$2" {installed}',
}


def rows(*kinds):
    with open(PACKAGES, encoding="utf-8") as f:
        lines = [line.split() for line in f if not line.startswith("#")]
    return [line for line in lines if line[0] in kinds]


class Machine:
    def __init__(self, t, programs, known, root=True):
        self.folder = t.dir()
        for tool in TOOLS:
            os.symlink(shutil.which(tool), os.path.join(self.folder, tool))
        self.programs({"id": f"echo {0 if root else 1000}", **programs})
        for name, lines in (("known", known), ("installed", [])):
            with open(os.path.join(self.folder, "." + name), "w", encoding="utf-8") as f:
                f.write("".join(line + "\n" for line in lines))

    def programs(self, texts):
        for name, text in texts.items():
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write("#!/usr/bin/env bash\n" + text.replace("{known}", self.folder + "/.known").replace("{installed}", self.folder + "/.installed") + "\n")
            os.chmod(path, 0o755)

    def install(self, *arguments):
        return sh(INSTALL, *arguments, env={"PATH": self.folder})

    def installed(self):
        with open(os.path.join(self.folder, ".installed"), encoding="utf-8") as f:
            return f.read().split()


def test_of_several_names_the_one_that_there_is(t):
    known = [line[1].split("|")[-1] for line in rows("build", "build?", "run", "run?")]
    machine = Machine(t, APT, known)
    done = machine.install("build", "run")
    assert done.code == 0 and sorted(machine.installed()) == sorted(known), (done, known)
    assert machine.install("build", "run").err == ""  # all is there


def test_what_is_optional_stops_nothing(t):
    machine = Machine(t, APT, [line[1] for line in rows("build", "run")])
    done = machine.install("build", "run")
    assert done.code == 0 and "libdnnl-dev is optional and cannot be had here" in done.err, done
    assert "meson" in machine.installed() and "libdnnl-dev" not in machine.installed()


def test_a_required_one_that_is_missing_is_an_error(t):
    machine = Machine(t, APT, [line[1] for line in rows("build", "run") if line[1] != "gcc"])
    assert machine.install("build", "run").code != 0


def test_without_root(t):
    everything = [line[1].split("|")[0] for line in rows("build", "build?", "run", "run?")]
    machine = Machine(t, APT, everything, root=False)
    done = machine.install("build", "run")
    assert done.code == 1 and "only root can install them" in done.err and " libdnnl-dev?" in done.err and "installing" not in done.err, done
    with open(os.path.join(machine.folder, ".installed"), "w", encoding="utf-8") as f:
        f.write("".join(line[1] + "\n" for line in rows("build", "run")))
    done = machine.install("build", "run")
    assert done.code == 0 and "going on without what is optional" in done.err, done


def test_fedora(t):
    """Its column has a name for each that is needed to build and to run."""
    wanted = rows("build", "build?", "run", "run?")
    assert all(len(line) == 3 for line in wanted), [line for line in wanted if len(line) != 3]
    known = [(line[1] if line[2] == "=" else line[2]).split("|")[-1] for line in wanted]
    machine = Machine(t, DNF, known)
    done = machine.install("build", "run")
    assert done.code == 0 and sorted(set(machine.installed())) == sorted(set(known)), done


def test_another_system(t):
    done = Machine(t, {}, []).install("build", "run")
    assert done.code == 1 and re.search(r"neither apt-get nor dnf is here; install what .*\.ci/packages lists", done.err), done


run(globals())
