// SPDX-License-Identifier: MIT
// Where things came from and what was made of them, according to journals. A thing is a file or an
// image (identified by its digest, "sha256:HEX") or an object of a cluster (by its uid, "uid:…").
//    a run  ── used ──> things it read: files, images
//     made ──> files, images, objects
// A thing that one run made and another one used links the two. The caller owns all JSON.
#pragma once
#include "script/journal/fold/fold.h"

// The lineage of a run: {run, notebook, path, source (SHA-256 of the notebook), started, state,
// command, git, seed, parameters, versions, cluster, cells: [{id, title, sha256}], used: [thing],
// made: [thing]}. A thing is {key, kind: "file" | "image" | "object", name, cell, of: [keys of its
// parts]}. Fields that were not recorded are missing.
cJSON *lineage_of(const fold *f);
// The lineage of all runs of a folder, newest first; journals that cannot be read are left out.
// Journals that the folder's index (runs_index.h) knows are not read again.
cJSON *lineage_read(const char *folder, err *e);

// The graph around a thing or a run, among these runs:
// {subject, runs: [as lineage_of, without used and made], things: [thing],
//  edges: [{from, to, kind: "used" | "made" | "part"}]}, where runs are "run:NAME".
// Edges go the way of the data: thing ─used─> run ─made─> thing.
cJSON *lineage_around(const cJSON *runs, const char *key);
// Finds the key of a word among these runs: a digest or its beginning (8 digits and more), a name
// of a thing ("team/rain:1", "deploy/rain", "Deployment rain"), the newest first; new. NULL: none.
char *lineage_find(const cJSON *runs, const char *word);
