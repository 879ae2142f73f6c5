// SPDX-License-Identifier: MIT
// What a person asks rows for: terms "NAME OP VALUE" joined by "and". OP is one of < <= > >= = ==
// !=, ~ (contains) and !~ (does not contain). Names and values of several words have quotes; an
// empty value is ''. What a name means, and how values are compared that are no numbers, is for the
// caller to know: runs have fields, tables have columns. It owns its copies; {0} has no terms.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct condition_term {
    char *name, *value;
    enum condition_op {
        CONDITION_LESS,
        CONDITION_AT_MOST,
        CONDITION_MORE,
        CONDITION_AT_LEAST,
        CONDITION_EQUAL,
        CONDITION_OTHER,
        CONDITION_HAS,
        CONDITION_LACKS
    } op;
};
struct condition {
    struct condition_term *terms;
    size_t n;
};
// Adds the terms of a text. Errors: ERR_USAGE with the part that cannot be parsed.
int condition_parse(struct condition *c, const char *text, err *e);
void condition_done(struct condition *c);
// Does the term hold for a value of this order to the term's (<0, 0, >0)? Not for the last two ops.
bool condition_orders(enum condition_op op, int order);

// A number for comparing; a 64-bit integer stays exact.
struct condition_number {
    double value;
    int64_t whole;
    bool is_whole;
};
bool condition_number(
    const char *text, struct condition_number *n); // false: the text is not a number
int condition_number_order(const struct condition_number *a, const struct condition_number *b);
// The same as condition_orders; nan equals itself, and is neither less nor greater than any number.
bool condition_holds_number(const struct condition_term *t, const struct condition_number *a,
    const struct condition_number *b);
