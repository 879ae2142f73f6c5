// SPDX-License-Identifier: MIT
// The fields of the kinds, in one table (schema.def). The check for unknown fields and wrong types,
// the merge keys of lists, and the OpenAPI document all come from it. Static; nothing is owned.
#pragma once
#include "k8s/sandbox/store/kind.h"

enum schema_type {
    SCHEMA_OBJECT,
    SCHEMA_STRING,
    SCHEMA_INT,
    SCHEMA_BOOL,
    SCHEMA_NUMBER,
    SCHEMA_BYTES,    // base64 in JSON
    SCHEMA_QUANTITY, // string or number
    SCHEMA_INT_OR_STRING,
    SCHEMA_TIME,
    SCHEMA_MICRO_TIME,
    SCHEMA_ANY, // anything at all below here
};
enum schema_shape { SHAPE_ONE, SHAPE_LIST, SHAPE_MAP, SHAPE_INLINE };

struct schema_field {
    unsigned number;  // in protobuf; 0: none
    const char *name; // NULL for SHAPE_INLINE: its type's fields stand among the others
    const struct schema *type;
    enum schema_shape shape;
    const char *keys; // of a list: NULL atomic, "" a set, else the field that identifies items
    bool required;
    bool keeps_zero; // 0, false and "" differ from a missing value
};
struct schema {
    const char *name; // "Container"
    enum schema_type type;
    const struct schema_field *fields;
    size_t n;
};

// NULL for kinds of CRDs: their fields are unknown.
const struct schema *schema_of(const struct kind *k);
// Finds a field by name, also in inlined types; NULL if there is none.
const struct schema_field *schema_field(const struct schema *s, const char *name);
// The DeleteOptions of meta/v1, which are not a kind.
const struct schema *schema_delete_options(void);

// What does not fit the schema: lists of paths ("spec.containers[0].imagee") and of causes. With
// prune, unknown fields are removed from o; known fields that are null are always removed.
struct schema_report {
    char **unknown;
    cJSON *mistyped; // causes of FieldValueTypeInvalid
};
void schema_check(const struct schema *s, cJSON *o, bool prune, struct schema_report *report);
void schema_report_done(struct schema_report *report);
