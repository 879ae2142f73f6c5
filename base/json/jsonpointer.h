// SPDX-License-Identifier: MIT
// JSON pointers (RFC 6901): "/metadata/labels/app.kubernetes.io~1name" names a place in a tree.
// Plain functions; nothing of the trees is kept.
#pragma once
#include "base/json/json.h"

// The value at this place, borrowed; NULL: there is none. "" is the root.
const cJSON *json_pointer_get(const cJSON *root, const char *pointer);
// The object or array that holds this place, borrowed; *last: the pointer's last word (new), which
// names the place in it. NULL: there is no such object or array.
cJSON *json_pointer_parent(cJSON *root, const char *pointer, char **last);
// The index in an array of n items that a word names, or -1. "-" names the end, if may_append.
int json_pointer_index(const char *word, int n, bool may_append);
// Appends a word: "/" and its text, escaped.
void json_pointer_add(buf *pointer, const char *word);
// Are the two places the same, or is one of them inside the other?
bool json_pointer_overlap(const char *a, const char *b);
// Appends the place in the form for people: "spec.containers[0].image".
void json_pointer_say(buf *out, const char *pointer);
