// SPDX-License-Identifier: MIT
#include "script/api/language/place.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DASHES = 8, STEPS = 100 };

// A line of block YAML:   - - key: value
struct row {
    const char *text; // the line
    size_t n;
    size_t dashes[DASHES], n_dashes; // their columns
    size_t at;                       // where what follows them begins
    size_t key;                      // bytes of the key there; 0: none
    const char *value;               // behind its ':'; with `rest` bytes, without blanks around
    size_t rest;
    bool blank; // empty, or a comment
};

static struct row read_row(const char *line, size_t n)
{
    struct row r = {.text = line, .n = n};
    size_t at = 0;
    while (at < n && line[at] == ' ')
        at++;
    while (
        at < n && line[at] == '-' && (at + 1 == n || line[at + 1] == ' ') && r.n_dashes < DASHES) {
        r.dashes[r.n_dashes++] = at++;
        while (at < n && line[at] == ' ')
            at++;
    }
    r.at = at;
    r.blank = (at == n && !r.n_dashes) || (at < n && line[at] == '#');
    size_t end = at;
    char quote = at < n && (line[at] == '"' || line[at] == '\'') ? line[at] : '\0';
    for (end += quote != 0; end < n; end++)
        if (quote ? line[end] == quote
                  : line[end] == ':' && (end + 1 == n || isspace((unsigned char)line[end + 1])))
            break;
    end += quote != 0;
    if (r.blank || end >= n || line[end] != ':')
        return r;
    r.key = end - at;
    size_t from = end + 1;
    while (from < n && isspace((unsigned char)line[from]))
        from++;
    r.value = line + from;
    r.rest = n - from;
    while (r.rest && isspace((unsigned char)r.value[r.rest - 1]))
        r.rest--;
    return r;
}

static char *key_of(const struct row *r)
{
    const char *k = r->text + r->at;
    bool quoted = r->key > 1 && (*k == '"' || *k == '\'');
    return quoted ? mem_strndup(k + 1, r->key - 2) : mem_strndup(k, r->key);
}

// Nothing but perhaps an anchor, a tag or a comment stands behind the key.
static bool opens(const struct row *r)
{
    return !r->rest || *r->value == '#' || *r->value == '&' || *r->value == '!';
}

static bool is_border(const char *line, size_t n)
{
    return n >= 3 && memcmp(line, "---", 3) == 0 && (n == 3 || line[3] == ' ');
}

struct document {
    const char *begin, *end, *line; // the last: the cursor's
};

static struct document document_at(const char *text, size_t cursor)
{
    struct document d = {text, text + strlen(text), text};
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        bool before = (size_t)(p - text) <= cursor;
        if (before)
            d.line = p;
        if (is_border(p, n) && before)
            d.begin = p + n;
        else if (is_border(p, n)) {
            d.end = p;
            break;
        }
        p += n + (p[n] == '\n');
        if (!*p && (size_t)(p - text) <= cursor && p > text && p[-1] == '\n')
            d.line = p;
    }
    if (d.line < d.begin)
        d.line = d.begin;
    return d;
}

static char *word_of(const struct row *r)
{
    const char *v = r->value;
    size_t n = r->rest;
    if (n > 1 && (*v == '"' || *v == '\'') && v[n - 1] == *v)
        return mem_strndup(v + 1, n - 2);
    size_t end = 0;
    while (end < n && !isspace((unsigned char)v[end]))
        end++;
    return mem_strndup(v, end);
}

static void find_kind(const struct document *d, struct manifest_place *out)
{
    for (const char *p = d->begin; p < d->end;) {
        size_t n = strcspn(p, "\n");
        struct row r = read_row(p, n);
        if (r.key && r.at == 0 && r.rest && p != d->line) {
            AUTO_FREE char *key = key_of(&r);
            char **to = str_eq(key, "apiVersion") ? &out->api_version
                        : str_eq(key, "kind")     ? &out->kind
                                                  : NULL;
            if (to && !*to)
                *to = word_of(&r);
        }
        p += n + (p[n] == '\n');
    }
}

// The way up from the cursor's line.
struct climb {
    size_t column; // a parent's key stands before this one
    bool list;     // or below it: we are an item of a list
    char *steps[STEPS];
    size_t n;
    bool lost;
};

static void step(struct climb *c, char *name)
{
    if (c->n < STEPS)
        c->steps[c->n++] = name;
    else
        free(name);
}

// The dashes of a line before this column are lists that we are in.
static void enter_lists(struct climb *c, const struct row *r, size_t column)
{
    for (size_t i = r->n_dashes; i-- > 0;)
        if (r->dashes[i] < column) {
            step(c, mem_strdup("[]"));
            c->column = r->dashes[i];
            c->list = true;
        }
}

static void climb_row(struct climb *c, const struct row *r)
{
    bool above = r->key && (r->at < c->column || (c->list && r->at == c->column && !r->n_dashes));
    bool item = !c->list && r->n_dashes && r->at == c->column;
    if (r->blank || c->lost)
        return;
    if (item) {
        enter_lists(c, r, r->at);
    } else if (above) {
        c->lost = !opens(r);
        step(c, key_of(r));
        c->column = r->at;
        c->list = false;
        enter_lists(c, r, r->at);
    }
}

static const char *line_before(const struct document *d, const char *line)
{
    if (line <= d->begin)
        return NULL;
    const char *p = line - 1; // its newline
    while (p > d->begin && p[-1] != '\n')
        p--;
    return p;
}

static void climb_up(const struct document *d, struct climb *c)
{
    for (const char *p = d->line; (p = line_before(d, p)) && (c->column || c->list);) {
        struct row r = read_row(p, strcspn(p, "\n"));
        climb_row(c, &r);
    }
}

static void add_sibling(struct manifest_place *out, const struct row *r)
{
    AUTO_FREE char *key = key_of(r);
    out->siblings = strv_add(out->siblings, key);
}

// Keys at this column, up to the beginning and down to the end of their mapping.
static void find_siblings(
    const struct document *d, const struct row *own, struct manifest_place *out)
{
    size_t column = own->at;
    bool first = own->n_dashes > 0;
    for (const char *p = d->line; !first && (p = line_before(d, p));) {
        struct row r = read_row(p, strcspn(p, "\n"));
        if (!r.blank && r.key && r.at == column)
            add_sibling(out, &r);
        if (!r.blank && (r.at < column || (r.n_dashes && r.at == column)))
            break;
    }
    for (const char *p = d->line + own->n; p < d->end && *p;) {
        p++;
        size_t n = strcspn(p, "\n");
        struct row r = read_row(p, n);
        if (p >= d->end || (!r.blank && (r.at < column || r.n_dashes)))
            break;
        if (r.key && r.at == column)
            add_sibling(out, &r);
        p += n;
    }
}

// Is the cursor behind a brace, a quote or a comment?
static bool is_flow(const char *from, const char *to)
{
    for (; from < to; from++)
        if (strchr("{}[]#'\"&*!|>%@`$", *from))
            return true;
    return false;
}

bool manifest_place_at(const char *text, size_t cursor, struct manifest_place *out)
{
    size_t length = strlen(text);
    *out = (struct manifest_place){
        .path = mem_array(1, sizeof *out->path), .siblings = mem_array(1, sizeof *out->siblings)};
    cursor = cursor < length ? cursor : length;
    struct document d = document_at(text, cursor);
    size_t n = strcspn(d.line, "\n"), at = (size_t)(text + cursor - d.line);
    struct row own = read_row(d.line, n);
    if (text + cursor < d.line || at > n || is_border(d.line, n) || at < own.at)
        return false;
    struct climb c = {.column = own.at};
    bool value = own.key && at > own.at + own.key;
    const char *typed = value ? own.value : d.line + own.at;
    if (typed > text + cursor) // among the blanks behind the ':'
        typed = text + cursor;
    find_kind(&d, out);
    if (own.n_dashes)
        enter_lists(&c, &own, own.at);
    climb_up(&d, &c);
    while (c.n > 0) {
        AUTO_FREE char *name = c.steps[--c.n];
        out->path = strv_add(out->path, name);
    }
    if (value) {
        AUTO_FREE char *key = key_of(&own);
        out->path = strv_add(out->path, key);
    } else {
        find_siblings(&d, &own, out);
    }
    out->value = value;
    out->from = (size_t)(typed - text);
    return !c.lost && !is_flow(typed, text + cursor);
}

void manifest_place_done(struct manifest_place *p)
{
    free(p->api_version);
    free(p->kind);
    strv_free(p->path);
    strv_free(p->siblings);
    *p = (struct manifest_place){0};
}
