// SPDX-License-Identifier: MIT
#include "base/data/condition.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define OPERATORS "<>=!~"

// Finds the operator of a term. Returns its position, and stores its kind and its length in bytes;
// NULL: the term has no operator.
static const char *find_op(const char *text, enum condition_op *op, size_t *n)
{
    static const struct {
        const char *text;
        enum condition_op op;
    } ops[] = {{"<=", CONDITION_AT_MOST}, {">=", CONDITION_AT_LEAST}, {"==", CONDITION_EQUAL},
        {"!=", CONDITION_OTHER}, {"!~", CONDITION_LACKS}, {"<", CONDITION_LESS},
        {">", CONDITION_MORE}, {"=", CONDITION_EQUAL}, {"~", CONDITION_HAS}};
    const char *at = text + strcspn(text, OPERATORS "\"'");
    while (*at == '"' || *at == '\'') { // a name in quotes may have them
        const char *close = strchr(at + 1, *at);
        at = close ? close + 1 : "";
        at += strcspn(at, OPERATORS "\"'");
    }
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        *n = strlen(ops[i].text);
        *op = ops[i].op;
        if (strncmp(at, ops[i].text, *n) == 0)
            return at;
    }
    return NULL;
}

// Removes blanks around it, and then quotes. A value without quotes must be one word: otherwise a
// condition such as `lr<2 and` or `lr=1 or lr=2` would be misread.
static char *word_of(const char *text, size_t n, const char *what, const char *term, err *e)
{
    AUTO_FREE char *trimmed = str_trim(text, n);
    size_t length = strlen(trimmed);
    bool quoted = *trimmed == '"' || *trimmed == '\'';
    if (quoted && length > 1 && strchr(trimmed + 1, *trimmed) == trimmed + length - 1)
        return mem_strndup(trimmed + 1, length - 2);
    const char *why = quoted                                    ? "does not end with its quote"
                      : trimmed[strcspn(trimmed, " \t\n\r")]    ? "has a blank"
                      : *trimmed && strchr(OPERATORS, *trimmed) ? "begins as an operator"
                                                                : NULL;
    if (!why)
        return STEAL(trimmed);
    err_set(e, ERR_USAGE,
        "\"%s\": the %s `%s` %s; conditions are joined by `and`, and a text of several words has "
        "quotes: about='trial and error'",
        term, what, trimmed, why);
    return NULL;
}

// The end of the term: before " and " outside quotes.
static const char *term_end(const char *text)
{
    char quote = 0;
    for (; *text; text++) {
        if (quote)
            quote = *text == quote ? 0 : quote;
        else if (*text == '"' || *text == '\'')
            quote = *text;
        else if (isspace((unsigned char)*text) && strncasecmp(text + 1, "and", 3) == 0 &&
                 isspace((unsigned char)text[4]))
            return text;
    }
    return text;
}

static int term_parse(struct condition_term *t, const char *term, err *e)
{
    size_t n;
    const char *op = find_op(term, &t->op, &n);
    if (!op)
        return err_set(e, ERR_USAGE,
            "\"%s\" is no condition: NAME, one of < <= > >= = != ~, and a value", term);
    if (!op[n + strspn(op + n, " \t\n")])
        return err_set(
            e, ERR_USAGE, "\"%s\" has no value after %.*s (an empty one is '')", term, (int)n, op);
    t->name = word_of(term, (size_t)(op - term), "name", term, e);
    t->value = t->name ? word_of(op + n, strlen(op + n), "value", term, e) : NULL;
    if (!t->value)
        return -1;
    return *t->name ? 0 : err_set(e, ERR_USAGE, "\"%s\" has no name before %.*s", term, (int)n, op);
}

int condition_parse(struct condition *w, const char *text, err *e)
{
    for (;;) {
        const char *end = term_end(text);
        AUTO_FREE char *term = mem_strndup(text, (size_t)(end - text));
        w->terms = mem_resize(w->terms, w->n + 1, sizeof *w->terms);
        struct condition_term *t = &w->terms[w->n++];
        *t = (struct condition_term){0};
        if (term_parse(t, term, e) < 0)
            return -1;
        if (!*end)
            return 0;
        text = end + strlen(" and ");
    }
}

void condition_done(struct condition *w)
{
    for (size_t i = 0; i < w->n; i++) {
        free(w->terms[i].name);
        free(w->terms[i].value);
    }
    free(w->terms);
    *w = (struct condition){0};
}

bool condition_orders(enum condition_op op, int order)
{
    switch (op) {
    case CONDITION_LESS:
        return order < 0;
    case CONDITION_AT_MOST:
        return order <= 0;
    case CONDITION_MORE:
        return order > 0;
    case CONDITION_AT_LEAST:
        return order >= 0;
    case CONDITION_EQUAL:
        return order == 0;
    case CONDITION_OTHER:
        return order != 0;
    case CONDITION_HAS:
    case CONDITION_LACKS:
        break;
    }
    return false;
}

bool condition_number(const char *text, struct condition_number *n)
{
    char *end = NULL;
    if (!*text)
        return false;
    n->value = strtod(text, &end);
    n->is_whole = str_to_int(text, &n->whole);
    return !*end;
}

// Neither is nan.
int condition_number_order(const struct condition_number *a, const struct condition_number *b)
{
    return a->is_whole && b->is_whole ? (a->whole > b->whole) - (a->whole < b->whole)
                                      : (a->value > b->value) - (a->value < b->value);
}

bool condition_holds_number(const struct condition_term *t, const struct condition_number *a,
    const struct condition_number *b)
{
    bool no_a = isnan(a->value), no_b = isnan(b->value);
    if (no_a || no_b)
        return (no_a && no_b) == (t->op == CONDITION_EQUAL) &&
               (t->op == CONDITION_EQUAL || t->op == CONDITION_OTHER);
    return condition_orders(t->op, condition_number_order(a, b));
}
