// SPDX-License-Identifier: MIT
// JSON trees are cJSON's own; this adds what Kubernetes and a journal need: 64-bit integers that
// survive, strict UTF-8, errors with a place, canonical text, and getters.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline void json_free_at(cJSON **j)
{
    cJSON_Delete(*j);
}
#define AUTO_JSON __attribute__((cleanup(json_free_at))) cJSON

// Parses exactly one value. Errors: ERR_INVALID with line and column; depth is limited to 1000.
// Integers beyond ±2^53 stay exact, however long: they are kept as cJSON_Raw, and read by json_int
// if they fit into 64 bits.
cJSON *json_parse(const char *text, size_t n, err *e);
// The same for the output of Python's json module, which need not be JSON: NaN and the infinities
// become null; \u0000 and lone surrogates become U+FFFD.
cJSON *json_parse_python(const char *text, size_t n, err *e);
// Parses values that follow one another, as `jq -c` writes them; returns them as an array.
cJSON *json_parse_stream(const char *text, size_t n, err *e);
// Compact text on one line; valid UTF-8 is kept as it is.
void json_print(buf *out, const cJSON *j);
// The same with object keys sorted at every level: for hashes and comparisons.
void json_print_canonical(buf *out, const cJSON *j);
void json_print_pretty(buf *out, const cJSON *j, int indent);
char *json_to_str(const cJSON *j); // compact, new

// A new number that keeps all 64 bits.
cJSON *json_new_int(int64_t value);
// Returns whether j is a number without a fraction that fits, and stores it in *value.
bool json_int(const cJSON *j, int64_t *value);
// Returns whether j is a number, and stores it in *value. An integer that a double cannot hold
// becomes the nearest double.
bool json_number(const cJSON *j, double *value);

// Getters that borrow; keys are matched exactly (case-sensitive).
const cJSON *json_get(const cJSON *object, const char *key);
// Follows "a.b.c" (keys without dots) and "[0]" in "a[0].b".
const cJSON *json_path(const cJSON *root, const char *path);
const char *json_str(const cJSON *object, const char *key); // NULL if none
const char *json_str_or(const cJSON *object, const char *key, const char *otherwise);
int64_t json_int_or(const cJSON *object, const char *key, int64_t otherwise);
bool json_bool_or(const cJSON *object, const char *key, bool otherwise);
// The string at json_path's path; NULL if none.
const char *json_path_str(const cJSON *root, const char *path);

// The members of an object sorted by the bytes of their keys: borrowed, in a new array that ends
// with NULL. Empty if it is no object.
const cJSON **json_sorted(const cJSON *object);
// Sorts the members of an object in that order.
void json_sort_members(cJSON *object);
// The same for all objects in j.
void json_sort(cJSON *j);

// Setters: replace or add; a NULL string sets nothing. They take ownership of `item`. `name` may be
// item's own name. A literal is not copied, since it lasts.
#define json_set(object, name, item) json_put(object, name, __builtin_constant_p(name), item)
#define json_set_str(object, name, value)                                                          \
    json_put_str(object, name, __builtin_constant_p(name), value)
#define json_set_int(object, name, value)                                                          \
    json_put(object, name, __builtin_constant_p(name), json_new_int(value))
#define json_set_bool(object, name, value)                                                         \
    json_put(object, name, __builtin_constant_p(name), cJSON_CreateBool(value))
void json_put(cJSON *object, const char *name, bool lasts, cJSON *item);
void json_put_str(cJSON *object, const char *name, bool lasts, const char *value);
// The object at key; makes it if it is missing.
cJSON *json_object_at(cJSON *object, const char *key);
cJSON *json_array_at(cJSON *object, const char *key);
bool json_equal(const cJSON *a, const cJSON *b);
