// SPDX-License-Identifier: MIT
// What the fields of a kind may be, cut out of a document of OpenAPI v3 (a server's /openapi/v3/…,
// also of CRDs): checks an object, and lists the fields of a place. Plain functions on trees;
// documents come from servers, so all walks are bounded.
//
//   {"root": "io.k8s.api.apps.v1.Deployment", "schemas": {NAME: schema, …}}
#pragma once
#include "base/json/json.h"

// The schema of a kind with all that it refers to; new. NULL: the document does not describe it.
cJSON *kindschema_pick(const cJSON *document, const char *api_version, const char *kind);
// The kinds that the document describes: [{"apiVersion", "kind"}]; new.
cJSON *kindschema_kinds(const cJSON *document);

// Tells what is wrong at a value of the object: of an unknown field (key: its name is wrong), of a
// wrong type, of a value that is not allowed; of a missing field, the object that lacks it.
typedef void kindschema_found(void *arg, const cJSON *at, bool key, const char *text);
// Which values, and which keys, are not known yet, since a template fills them in; NULL: all are.
typedef bool kindschema_unknown(const char *text);
struct kindschema_ask {
    kindschema_unknown *unknown;
    bool partial; // there may be more in the object than is seen: nothing is missing
    kindschema_found *found;
    void *arg;
};
// Checks an object by what kindschema_pick returned. Values that are null are not checked: servers
// drop them.
void kindschema_check(const cJSON *picked, const cJSON *object, const struct kindschema_ask *ask);

// The schema at a path of keys and list items ("spec", "containers", "[]", "image"),
// NULL-terminated; borrowed. NULL: the schema does not describe this path.
const cJSON *kindschema_at(const cJSON *picked, const char *const *path);
// Calls fn for each field of an object of this schema: its name, its schema, whether it is
// required.
typedef void kindschema_field(void *arg, const char *name, const cJSON *field, bool required);
void kindschema_fields(const cJSON *picked, const cJSON *schema, kindschema_field *fn, void *arg);
// "string", "integer", "[]Container", "map[string]string", "Object"; new.
char *kindschema_type(const cJSON *picked, const cJSON *schema);
// The schema's values, if only some are allowed, else NULL; its description, "" without one, which
// may be its type's.
const cJSON *kindschema_values(const cJSON *picked, const cJSON *schema);
const char *kindschema_words(const cJSON *picked, const cJSON *schema);
