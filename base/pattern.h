// SPDX-License-Identifier: MIT
// What people type to search or to filter by: a text, or a POSIX extended regular expression, where
// it has characters that mean something in one. All in small letters it matches either case, else
// it is exact. What is no valid expression is taken as it stands. It owns its copy; {0} is empty.
#pragma once
#include "base/needle.h"

#include <regex.h>
#include <stdbool.h>

struct pattern {
    char *text; // as it was typed
    size_t n;
    bool exact, turned, compiled;
    struct needle needle;
    regex_t regex;
    char wrong[96]; // why it is no expression; "" when it is one, or a plain text
};

void pattern_set(struct pattern *p, const char *text);
// The same of a filter: "!x" is what does not match x.
void pattern_set_filter(struct pattern *p, const char *text);
// The same where case counts (exact) or not, whatever letters it has.
void pattern_set_case(struct pattern *p, const char *text, bool exact);
void pattern_done(struct pattern *p); // also empties it
bool pattern_is_empty(const struct pattern *p);
// Its first place in a line of n bytes from `from` on, and how long that is; NULL: there is none.
// Of a very long line only the start is compared with an expression.
const char *pattern_find(
    const struct pattern *p, const char *line, size_t n, size_t from, size_t *length);
// The same, with the places of its groups "(…)": [0] is all of it. A plain text has no other. Of a
// group that took no part `from` is SIZE_MAX.
enum { PATTERN_GROUPS = 10 };
struct pattern_group {
    size_t from, to;
};
bool pattern_match(const struct pattern *p, const char *line, size_t n, size_t from,
    struct pattern_group groups[PATTERN_GROUPS]);
// Does a line pass the filter? Everything passes an empty one.
bool pattern_passes(const struct pattern *p, const char *line, size_t n);
