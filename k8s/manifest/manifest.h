// SPDX-License-Identifier: MIT
// Manifests: YAML or JSON text, or tables, to a flat list of objects that an API server takes.
// Results are new trees; nothing is kept.
#pragma once
#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>

#define LABEL_MANAGED_BY "app.kubernetes.io/managed-by"
#define LABEL_RUN        "firesteel/run"

// A text of one or more documents (YAML, of which JSON is a part); `name` is for messages. Lists
// (kind: …List with items) are flattened. Errors: "sparkapp.yaml: line 3, column 7: …",
// "sparkapp.yaml: document 2 has no kind".
cJSON *manifest_parse(const char *name, const char *text, size_t n, err *e);
// The same for a tree that came from Lua: one object, or an array of objects.
cJSON *manifest_from_json(const cJSON *value, err *e);
// Marks an object as this run's: labels managed-by=firesteel and firesteel/run=RUN. with_pods: also
// on the pods that it will lead to, for kinds that run once (jobs, applications): a template that
// changes with each run would roll out a Deployment again, and is refused where it may not change.
// Labels that are there stay.
void manifest_label(cJSON *object, const char *run, bool with_pods);
// A label value made of any text: what a label cannot hold becomes '-', and at most 63 bytes stay.
char *manifest_label_value(const char *text);
