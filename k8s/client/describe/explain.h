// SPDX-License-Identifier: MIT
// What the fields of a kind mean, from the server's OpenAPI v3 document, as `kubectl explain`
// prints it. Plain functions on trees.
#pragma once
#include "k8s/client/connect/client.h"

// The kind and the path of a field that words such as "pods.spec.containers",
// "deploy.apps.spec" or "deployments.v1.apps.spec" name. *path is new (strv_free). api_version
// NULL: of several groups and versions the one that kubectl takes.
const struct resource *explain_target(client *c, const struct patience *p, const char *words,
    const char *api_version, char ***path, err *e);

// path: keys, NULL-terminated, may be empty. recursive: all fields below it, without their
// descriptions. Errors: ERR_NOT_FOUND; for an unknown field with the fields that are there.
int explain(buf *out, const cJSON *document, const struct resource *r, char *const *path,
    bool recursive, err *e);
