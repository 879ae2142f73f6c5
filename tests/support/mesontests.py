# SPDX-License-Identifier: MIT
"""The tests of a build as meson knows them, and what is built for each."""
import json
import os


def told(build, what):
    with open(os.path.join(build, "meson-info", f"intro-{what}.json"), encoding="utf-8") as f:
        return json.load(f)


class Tests:
    def __init__(self, build):
        found, targets = told(build, "tests"), told(build, "targets")
        names = [t["name"] for t in found]
        self.build, self.tests = build, {t["name"]: t for t in found}
        self.twice = {name for name in names if names.count(name) > 1}
        self.targets = {t["id"]: os.path.relpath(t["filename"][0], build) for t in targets
                        if t["type"] in ("executable", "shared library", "shared module")}
        self.sources = {t["id"]: [s for part in t["target_sources"] for s in part.get("sources", [])] for t in targets}
        self.programs = [o for o in self.targets.values() if not o.startswith(("tests/unit/", "tests/fuzz/", "tests/bench/"))]

    def wanted(self, test):
        """What is built for a test: the suites but unit and corpus start all programs, whatever meson knows of it."""
        own = [self.targets[i] for i in self.tests[test]["depends"] if i in self.targets]
        alone = {"firesteel:unit", "firesteel:corpus"}.intersection(self.tests[test]["suite"])
        return sorted(set(own) | set(() if alone else self.programs))
