// SPDX-License-Identifier: MIT
// Turns manifests (YAML or JSON text, or Lua tables) into a flat list of objects for an API server.
// Results are new trees; nothing is kept.
#pragma once
#include "base/err.h"
#include "base/json/json.h"

#include <stdbool.h>

#define LABEL_MANAGED_BY "app.kubernetes.io/managed-by"
#define LABEL_RUN        "firesteel/run"

// Parses a text of one or more documents (YAML, which includes JSON); `name` is for messages. Lists
// (kind: …List with items) are flattened. Errors: "sparkapp.yaml: line 3, column 7: …",
// "sparkapp.yaml: document 2 has no kind".
cJSON *manifest_parse(const char *name, const char *text, size_t n, err *e);
// Refuses a name or label that is too long, also for what controllers make of it (lengths.c): the
// error names the field. manifest_parse and manifest_from_json have called it.
int manifest_check_lengths(const cJSON *object, err *e);
// The same for a tree from Lua: one object, or an array of objects.
cJSON *manifest_from_json(const cJSON *value, err *e);
// Marks an object as this run's: labels managed-by=firesteel and firesteel/run=RUN. Existing labels
// stay. with_pods: also labels the pods that the object makes, for kinds that run once (jobs,
// applications). For a Deployment a template that changes with each run would cause a new rollout,
// and other kinds refuse to change it.
void manifest_label(cJSON *object, const char *run, bool with_pods);
// Makes a label value of any text: forbidden characters become '-', and at most 63 bytes stay.
char *manifest_label_value(const char *text);
