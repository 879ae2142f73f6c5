#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints a run as events of OpenLineage (https://openlineage.io/spec/2-0-2/OpenLineage.json), a line of JSON each.

    firesteel export RUN --to json | python3 openlineage.py

Reads the run on standard input and sends nothing. The job is the notebook; inputs and outputs are the
files, images and objects that the run used and made. A run that is still going on has no end event."""
import hashlib
import json
import os
import sys
import uuid

SPEC = "https://openlineage.io/spec/"
EVENT = SPEC + "2-0-2/OpenLineage.json#/$defs/RunEvent"
OWN_RUN = SPEC + "2-0-2/OpenLineage.json#/$defs/RunFacet"
OWN_MEMBERS = ("run", "state", "source", "command", "git", "seed", "parameters", "versions", "cells", "from")
ENDS = {"ok": "COMPLETE", "interrupted": "ABORT", "stopped": "ABORT", "killed": "ABORT"}
NAMESPACES = {"file": "file", "image": "oci"}


def run_id(name):
    """The same run has the same id each time: a UUID version 8 (RFC 9562) from the digest of its name."""
    digits = hashlib.sha256(name.encode()).hexdigest()[:32]
    return str(uuid.UUID(digits[:12] + "8" + digits[13:16] + "89ab"[int(digits[16], 16) % 4] + digits[17:]))


class Events:
    def __init__(self, run):
        self.run = run
        self.producer = "urn:firesteel:" + run.get("versions", {}).get("firesteel", "unknown")

    def facet(self, schema, **members):
        return {"_producer": self.producer, "_schemaURL": schema, **members}

    def standard(self, release, facet, /, **members):
        return self.facet(f"{SPEC}facets/{release}/{facet}.json#/$defs/{facet}", **members)

    def run_facets(self, ended):
        run = self.run
        facets = {
            "processing_engine": self.standard("1-1-1", "ProcessingEngineRunFacet", name="firesteel",
                                               version=run.get("versions", {}).get("firesteel", "unknown")),
            "firesteel_run": self.facet(OWN_RUN, **{name: run[name] for name in OWN_MEMBERS if name in run}),
        }
        if ended and run["state"] != "ok" and run.get("message"):
            facets["errorMessage"] = self.standard("1-0-1", "ErrorMessageRunFacet", message=run["message"],
                                                   programmingLanguage=run["language"])
        return facets

    def job(self):
        run = self.run
        facets = {"jobType": self.standard("2-0-4", "JobTypeJobFacet", processingType="BATCH", integration="FIRESTEEL",
                                           jobType="NOTEBOOK")}
        if "text" in run:
            facets["sourceCode"] = self.standard("1-0-1", "SourceCodeJobFacet", language=run["language"],
                                                 sourceCode=run["text"])
        return {"namespace": "firesteel://" + run.get("host", "localhost"),
                "name": run.get("path") or run.get("notebook") or "notebook", "facets": facets}

    def dataset(self, thing):
        """Named as OpenLineage's Naming.md says: files by path, images and objects by where they are."""
        name = thing["name"]
        if thing["kind"] == "file":
            name = os.path.join(self.run.get("cwd", ""), name)
        elif thing["kind"] == "object":
            name = thing.get("namespace", "default") + "/" + name
        return {"namespace": NAMESPACES.get(thing["kind"], "kubernetes"), "name": name, "facets": {
            "version": self.standard("1-0-1", "DatasetVersionDatasetFacet", datasetVersion=thing.get("key"))}}

    def event(self, kind, time, ended):
        run = self.run
        return {"eventTime": time, "eventType": kind, "producer": self.producer, "schemaURL": EVENT,
                "run": {"runId": run_id(run["run"]), "facets": self.run_facets(ended)}, "job": self.job(),
                "inputs": [self.dataset(thing) for thing in run["used"]],
                "outputs": [self.dataset(thing) for thing in run["made"] if ended]}

    def __iter__(self):
        yield self.event("START", self.run["started"], False)
        if "ended" in self.run:
            yield self.event(ENDS.get(self.run["state"], "FAIL"), self.run["ended"], True)


def main():
    try:
        run = json.load(sys.stdin)
        lines = [json.dumps(event) for event in Events(run)]
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        sys.exit(f"openlineage.py: standard input is not a run of `firesteel export --to json`: {type(e).__name__}: {e}")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
