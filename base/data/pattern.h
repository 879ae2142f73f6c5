// SPDX-License-Identifier: MIT
// What a person types to search or filter: a plain text, or a POSIX extended regular expression if
// it has characters that are special in one. Small letters alone match either case; with a capital
// the match is exact. An invalid expression is searched for as plain text. It owns its copy; {0} is
// empty.
#pragma once
#include "base/data/needle.h"

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
// The same for a filter: "!x" passes the lines that do not match x.
void pattern_set_filter(struct pattern *p, const char *text);
// The same where case counts (exact) or not, whatever letters it has.
void pattern_set_case(struct pattern *p, const char *text, bool exact);
void pattern_done(struct pattern *p); // also empties it
bool pattern_is_empty(const struct pattern *p);
// The first match in a line of n bytes at or after `from`, and its length; NULL: no match. Only the
// start of a very long line is compared with an expression.
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
