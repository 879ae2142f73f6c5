// SPDX-License-Identifier: MIT
#include "tui/part/table/tablefilter.h"

#include "base/mem.h"
#include "base/str.h"
#include "tui/part/table/tablevalue.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define OPERATORS "<>=!~"

int tablefilter_column(const struct tablefilter_columns *columns, const char *name)
{
    int found = -1;
    for (int i = 0; i < columns->n; i++)
        if (str_eq(columns->name(columns->table, i), name))
            return i;
    for (int i = 0; i < columns->n; i++) {
        if (strcasecmp(columns->name(columns->table, i), name) != 0)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

void tablefilter_done(struct tablefilter *f)
{
    for (size_t i = 0; f->patterns && i < f->condition.n; i++)
        pattern_done(&f->patterns[i]);
    condition_done(&f->condition);
    pattern_done(&f->pattern);
    free(f->patterns);
    free(f->columns);
    *f = (struct tablefilter){0};
}

static bool searches(const struct condition_term *t)
{
    return t->op == CONDITION_HAS || t->op == CONDITION_LACKS;
}

// Finds the columns of its terms; false: one has none.
static bool bind(struct tablefilter *f, const struct tablefilter_columns *columns)
{
    f->columns = mem_array(f->condition.n, sizeof *f->columns);
    f->patterns = mem_array(f->condition.n, sizeof *f->patterns);
    for (size_t i = 0; i < f->condition.n; i++) {
        const struct condition_term *t = &f->condition.terms[i];
        f->columns[i] = tablefilter_column(columns, t->name);
        if (searches(t))
            pattern_set_case(&f->patterns[i], t->value, false);
        if (f->columns[i] < 0) {
            snprintf(f->wrong, sizeof f->wrong, "there is no column %s", t->name);
            return false;
        }
    }
    return true;
}

// Does the text begin with a column's name and an operator? Then it will be a condition when it is
// typed to its end.
static bool begins(const char *text, const struct tablefilter_columns *columns)
{
    bool quoted = *text == '"' || *text == '\'';
    const char *close = quoted ? strchr(text + 1, *text) : NULL;
    size_t n = close ? (size_t)(close - text - 1) : strcspn(text, OPERATORS);
    AUTO_FREE char *name = str_trim(text + (close != NULL), n);
    const char *rest = close ? close + 1 + strspn(close + 1, " ") : text + n;
    return *rest && strchr(OPERATORS, *rest) && tablefilter_column(columns, name) >= 0;
}

void tablefilter_set(
    struct tablefilter *f, const char *text, const struct tablefilter_columns *columns)
{
    err e = {0};
    tablefilter_done(f);
    if (!text || !*text)
        return;
    bool parsed = condition_parse(&f->condition, text, &e) == 0;
    if (parsed && bind(f, columns))
        return;
    char wrong[sizeof f->wrong];
    str_fit(wrong, sizeof wrong, parsed ? f->wrong : "a condition that is not complete");
    tablefilter_done(f);
    bool is_begun = begins(text, columns);
    if (!is_begun)
        pattern_set_filter(&f->pattern, text);
    if (parsed || is_begun)
        memcpy(f->wrong, wrong, sizeof wrong);
}

bool tablefilter_is_empty(const struct tablefilter *f)
{
    return !f->condition.n && pattern_is_empty(&f->pattern);
}

static bool has_capital(const char *text)
{
    while (*text && !isupper((unsigned char)*text))
        text++;
    return *text;
}

// What begins with a year and a month.
bool tablefilter_is_date(const char *text)
{
    static const char shape[] = "dddd-dd";
    for (size_t i = 0; i < sizeof shape - 1; i++)
        if (shape[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != shape[i])
            return false;
    return !isdigit((unsigned char)text[sizeof shape - 1]);
}

// As far as b goes: 2026-01-02T03:04 is 2026-01.
static int date_order(const char *a, const char *b)
{
    for (; *b; a++, b++) {
        char x = *a == 'T' ? ' ' : *a, y = *b == 'T' ? ' ' : *b;
        if (x != y)
            return (unsigned char)x < (unsigned char)y ? -1 : 1;
    }
    return 0;
}

static bool number(const char *words, struct condition_number *n)
{
    n->is_whole = false;
    return condition_number(words, n) || tablevalue_worth(words, &n->value);
}

static bool term_holds(
    const struct condition_term *t, const struct pattern *pattern, const char *words)
{
    struct condition_number a, b;
    size_t length;
    if (searches(t))
        return (pattern_find(pattern, words, strlen(words), 0, &length) != NULL) ==
               (t->op == CONDITION_HAS);
    bool equals = t->op == CONDITION_EQUAL || t->op == CONDITION_OTHER;
    if (number(t->value, &b))
        return number(words, &a) ? condition_holds_number(t, &a, &b) : t->op == CONDITION_OTHER;
    if (!*words && !equals)
        return false;
    if (tablefilter_is_date(t->value) && tablefilter_is_date(words))
        return condition_orders(t->op, date_order(words, t->value));
    return condition_orders(t->op,
        equals && !has_capital(t->value) ? strcasecmp(words, t->value) : strcmp(words, t->value));
}

static bool has_match(const struct pattern *p, int columns,
    void (*entry)(const void *row, int column, buf *out), const void *row)
{
    AUTO_BUF words = {0};
    size_t length;
    for (int i = 0; i < columns; i++) {
        buf_clear(&words);
        entry(row, i, &words);
        if (pattern_find(p, buf_cstr(&words), words.len, 0, &length))
            return true;
    }
    return false;
}

bool tablefilter_passes(const struct tablefilter *f, int columns,
    void (*entry)(const void *row, int column, buf *out), const void *row)
{
    if (!f->condition.n)
        return pattern_is_empty(&f->pattern) ||
               has_match(&f->pattern, columns, entry, row) != f->pattern.turned;
    AUTO_BUF words = {0};
    for (size_t i = 0; i < f->condition.n; i++) {
        buf_clear(&words);
        entry(row, f->columns[i], &words);
        if (!term_holds(&f->condition.terms[i], &f->patterns[i], buf_cstr(&words)))
            return false;
    }
    return true;
}

// Quoted unless it is one plain word.
static void write_word(buf *out, const char *word)
{
    bool plain = *word != '\0';
    for (const char *c = word; *c; c++)
        plain = plain && !isspace((unsigned char)*c) && !strchr(OPERATORS "\"'", *c);
    const char *quote = plain ? "" : strchr(word, '\'') ? "\"" : "'";
    buf_fmt(out, "%s%s%s", quote, word, quote);
}

void tablefilter_write(buf *out, const char *column, const char *op, const char *value)
{
    write_word(out, column);
    buf_str(out, op);
    if (*op)
        write_word(out, value);
}
