// SPDX-License-Identifier: MIT
#include "script/journal/runs/runs.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const kinds[] = {"params", "metrics", "tags"};

// Of a metric its value.
static const cJSON *of_kind(const cJSON *run, const char *kind, const char *name)
{
    const cJSON *value = json_get(json_get(run, kind), name);
    return str_eq(kind, "metrics") ? json_get(value, "value") : value;
}

// Where the run came from: commit, branch, dirty, seed, host, context, …
static const cJSON *of_origin(const cJSON *origin, const char *name)
{
    static const char *const parts[] = {"git", "cluster", "machine"};
    const cJSON *found = json_get(origin, name);
    if (found && !cJSON_IsObject(found))
        return found;
    found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(parts) && !found; i++)
        found = json_get(json_get(origin, parts[i]), name);
    return found;
}

const cJSON *runs_field(const cJSON *run, const char *name)
{
    const char *dot = strchr(name, '.');
    for (size_t i = 0; dot && i < ARRAY_LEN(kinds); i++) {
        size_t n = strlen(kinds[i]);
        if (strncmp(name, kinds[i], n) == 0 && name[n] == '.')
            return of_kind(run, kinds[i], name + n + 1);
    }
    const cJSON *found = json_get(run, name);
    if (found && !cJSON_IsObject(found))
        return found;
    found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(kinds) && !found; i++)
        found = of_kind(run, kinds[i], name);
    return found ? found : of_origin(json_get(run, "origin"), name);
}

char *runs_text(const cJSON *value)
{
    if (!value || cJSON_IsNull(value))
        return mem_strdup("");
    if (cJSON_IsString(value))
        return mem_strdup(value->valuestring);
    if (cJSON_IsBool(value))
        return mem_strdup(cJSON_IsTrue(value) ? "true" : "false");
    int64_t integer;
    if (json_int(value, &integer))
        return str_fmt("%lld", (long long)integer);
    if (cJSON_IsNumber(value))
        return str_fmt("%.6g", value->valuedouble);
    return json_to_str(value);
}

// A number for comparing; a 64-bit integer stays exact.
struct number {
    double value;
    int64_t whole;
    bool is_whole;
};

static bool number_in(const char *text, struct number *n)
{
    char *end = NULL;
    if (!*text)
        return false;
    n->value = strtod(text, &end);
    n->is_whole = str_to_int(text, &n->whole);
    return !*end;
}

// The number that a value is, also if it is a text ("nan" is one).
static bool number_of(const cJSON *value, struct number *n)
{
    n->is_whole = json_int(value, &n->whole);
    return json_number(value, &n->value) ||
           (cJSON_IsString(value) && number_in(value->valuestring, n));
}

// Neither is nan.
static int number_order(const struct number *a, const struct number *b)
{
    return a->is_whole && b->is_whole ? (a->whole > b->whole) - (a->whole < b->whole)
                                      : (a->value > b->value) - (a->value < b->value);
}

#define OPERATORS "<>=!~"

// The position of the term's operator, and its length; NULL: there is none.
static const char *find_op(const char *text, enum runs_op *op, size_t *n)
{
    static const struct {
        const char *text;
        enum runs_op op;
    } ops[] = {{"<=", RUNS_AT_MOST}, {">=", RUNS_AT_LEAST}, {"==", RUNS_EQUAL}, {"!=", RUNS_OTHER},
        {"<", RUNS_LESS}, {">", RUNS_MORE}, {"=", RUNS_EQUAL}, {"~", RUNS_HAS}};
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

static int term_parse(struct runs_term *t, const char *term, err *e)
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

int runs_where_parse(struct runs_where *w, const char *text, err *e)
{
    for (;;) {
        const char *end = term_end(text);
        AUTO_FREE char *term = mem_strndup(text, (size_t)(end - text));
        w->terms = mem_resize(w->terms, w->n + 1, sizeof *w->terms);
        struct runs_term *t = &w->terms[w->n++];
        *t = (struct runs_term){0};
        if (term_parse(t, term, e) < 0)
            return -1;
        if (!*end)
            return 0;
        text = end + strlen(" and ");
    }
}

void runs_where_done(struct runs_where *w)
{
    for (size_t i = 0; i < w->n; i++) {
        free(w->terms[i].name);
        free(w->terms[i].value);
    }
    free(w->terms);
    *w = (struct runs_where){0};
}

static bool compare(enum runs_op op, int order)
{
    switch (op) {
    case RUNS_LESS:
        return order < 0;
    case RUNS_AT_MOST:
        return order <= 0;
    case RUNS_MORE:
        return order > 0;
    case RUNS_AT_LEAST:
        return order >= 0;
    case RUNS_EQUAL:
        return order == 0;
    case RUNS_OTHER:
        return order != 0;
    case RUNS_HAS:
        break;
    }
    return false;
}

static bool term_holds(const struct runs_term *t, const cJSON *run)
{
    const cJSON *value = runs_field(run, t->name);
    if (!value)
        return t->op == RUNS_OTHER;
    struct number a, b;
    if (t->op == RUNS_HAS || !number_of(value, &a) || !number_in(t->value, &b)) {
        AUTO_FREE char *text = runs_text(value);
        return t->op == RUNS_HAS ? strcasestr(text, t->value) != NULL
                                 : compare(t->op, strcmp(text, t->value));
    }
    bool no_a = isnan(a.value), no_b = isnan(b.value);
    if (no_a || no_b) // nan equals itself, and is neither less nor greater than any number
        return (no_a && no_b) == (t->op == RUNS_EQUAL) &&
               (t->op == RUNS_EQUAL || t->op == RUNS_OTHER);
    return compare(t->op, number_order(&a, &b));
}

bool runs_where_holds(const struct runs_where *w, const cJSON *run)
{
    for (size_t i = 0; i < w->n; i++)
        if (!term_holds(&w->terms[i], run))
            return false;
    return true;
}

bool runs_any_has(cJSON *const *runs, size_t n, const char *field)
{
    for (size_t i = 0; i < n; i++)
        if (runs_field(runs[i], field))
            return true;
    return false;
}

struct sorted {
    size_t place;
    const cJSON *value; // NULL: last
    size_t at;
    bool down;
};

static int by_value(const void *a_, const void *b_)
{
    const struct sorted *a = a_, *b = b_;
    struct number x, y;
    bool one = number_of(a->value, &x) && !isnan(x.value),
         other = number_of(b->value, &y) && !isnan(y.value);
    int order = 0;
    if (!a->value != !b->value)
        return !a->value - !b->value;
    if (one && other) {
        order = number_order(&x, &y);
    } else if (one != other) {
        return other - one; // numbers sort before other values
    } else if (a->value) {
        AUTO_FREE char *s = runs_text(a->value);
        AUTO_FREE char *t = runs_text(b->value);
        order = strcmp(s, t);
    }
    if (order)
        return a->down ? -order : order;
    return (a->at > b->at) - (a->at < b->at);
}

void runs_order(size_t *places, const cJSON *const *values, size_t n, bool down)
{
    struct sorted *all = mem_array(n + 1, sizeof *all);
    for (size_t i = 0; i < n; i++)
        all[i] = (struct sorted){places[i], values[i], i, down};
    qsort(all, n, sizeof *all, by_value);
    for (size_t i = 0; i < n; i++)
        places[i] = all[i].place;
    free(all);
}

void runs_sort(cJSON **runs, size_t n, const char *field)
{
    bool down = *field == '-';
    size_t *places = mem_array(n + 1, sizeof *places);
    const cJSON **values = mem_array(n + 1, sizeof *values);
    cJSON **sorted = mem_array(n + 1, sizeof *sorted);
    for (size_t i = 0; i < n; i++) {
        places[i] = i;
        values[i] = runs_field(runs[i], field + down);
    }
    runs_order(places, values, n, down);
    for (size_t i = 0; i < n; i++)
        sorted[i] = runs[places[i]];
    memcpy(runs, sorted, n * sizeof *runs);
    free(places);
    free(values);
    free(sorted);
}
