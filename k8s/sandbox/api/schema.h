// SPDX-License-Identifier: MIT
// What is known of the kinds' fields: one table (schema.def) from which come the check for unknown
// fields and wrong types, the merge keys of lists, and the OpenAPI document. Static; nothing is
// owned.
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
    const char *name; // NULL for SHAPE_INLINE, whose type's fields stand among the others
    const struct schema *type;
    enum schema_shape shape;
    const char *keys; // of a list: NULL atomic, "" a set, else the field that tells items apart
    bool required;
    bool keeps_zero; // 0, false and "" are not the same as nothing
};
struct schema {
    const char *name; // "Container"
    enum schema_type type;
    const struct schema_field *fields;
    size_t n;
};

// NULL for kinds of CRDs, about whose fields nothing is known.
const struct schema *schema_of(const struct kind *k);
// By name, also of what is inlined; NULL if there is none.
const struct schema_field *schema_field(const struct schema *s, const char *name);
// The DeleteOptions of meta/v1, which are no kind.
const struct schema *schema_delete_options(void);

// What does not belong: lists of paths ("spec.containers[0].imagee") and of causes. Unknown fields
// are removed from o if prune is set, those that are null always.
struct schema_report {
    char **unknown;
    cJSON *mistyped; // causes of FieldValueTypeInvalid
};
void schema_check(const struct schema *s, cJSON *o, bool prune, struct schema_report *report);
void schema_report_done(struct schema_report *report);
