// SPDX-License-Identifier: MIT
// Kinds: the names of a resource, and what the server can do with it. Built-in kinds are in a table
// (kind.def). CustomResourceDefinitions add kinds to a `kinds`, which owns those.
#pragma once
#include "base/json/json.h"

enum kind_flags {
    KIND_NAMESPACED = 1,
    KIND_HAS_STATUS = 2,     // has a /status subresource, and only that writes .status
    KIND_HAS_LOG = 4,        // pods
    KIND_HAS_GENERATION = 8, // metadata.generation counts the changes of the spec
    KIND_IS_CUSTOM = 16,     // no strategic merge patch (415); merged as plain JSON
    KIND_IS_REVIEW = 32,     // takes only POST, and nothing is stored
};

enum kind_id {
#define X(id, ...) KIND_##id,
#include "k8s/sandbox/store/kind.def"
#undef X
    KIND_COUNT
};

struct kind {
    const char *group; // "" for the core group
    const char *version;
    const char *resource; // plural, lower case
    const char *singular;
    const char *kind;
    const char *short_names; // separated by commas
    const char *categories;
    unsigned flags;
    const cJSON *columns; // additionalPrinterColumns of a CRD, else NULL
};

extern const struct kind kind_builtin[KIND_COUNT];
// KIND(PODS) is a kind to pass to the store.
#define KIND(id) (&kind_builtin[KIND_##id])

// "v1", "batch/v1"; new.
char *kind_api_version(const struct kind *k);
// The name in messages: "pods", "jobs.batch"; new.
char *kind_qualified(const struct kind *k);

// All kinds of one server: the built-in ones, then those of CRDs.
typedef struct kinds kinds;
kinds *kinds_new(void);
void kinds_free(kinds *ks);
// NULL when there is none. Pointers stay valid until kinds_free.
const struct kind *kinds_find(
    const kinds *ks, const char *group, const char *version, const char *resource);
// The i-th kind in order of discovery; NULL at the end.
const struct kind *kinds_at(const kinds *ks, size_t i);
// Adds or replaces the kinds of a CRD; below: removes them.
int kinds_add_crd(kinds *ks, const cJSON *crd, err *e);
void kinds_remove_crd(kinds *ks, const cJSON *crd);
