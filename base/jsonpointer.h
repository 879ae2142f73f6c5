// SPDX-License-Identifier: MIT
// JSON pointers (RFC 6901): "/metadata/labels/app.kubernetes.io~1name" names a place in a tree.
// Plain functions; nothing of the trees is kept.
#pragma once
#include "base/json.h"

// What stands there, borrowed; NULL: nothing. "" is the root.
const cJSON *json_pointer_get(const cJSON *root, const char *pointer);
// What it stands in, borrowed; *last: the last word (new), by which it stands there. NULL: it has
// no place.
cJSON *json_pointer_parent(cJSON *root, const char *pointer, char **last);
// The index that a word is in an array of n items, or -1; "-" is the end, if may_append.
int json_pointer_index(const char *word, int n, bool may_append);
// Appends a word: "/" and its text, escaped.
void json_pointer_add(buf *pointer, const char *word);
// Is one of the places the other, or in it?
bool json_pointer_overlap(const char *a, const char *b);
// The same place for people: "spec.containers[0].image".
void json_pointer_say(buf *out, const char *pointer);
