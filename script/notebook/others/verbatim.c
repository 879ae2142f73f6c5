// SPDX-License-Identifier: MIT
// An .ipynb that is saved has the bytes it was read with, but for what has changed: other programs
// indent, order, escape and add what no rule of ours would give again.
//
//   {"cells": [      head ┐
//     {…},                │ a cell whose JSON is still what this one was read as: its bytes
//     {…}                 │ another one: written anew
//   ], "metadata": …  tail┘ of the file; written anew if anything but cells has changed
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/private.h"

#include <string.h>

struct part {
    size_t from, to;
};

// The places of the cells in the text of a file.
struct places {
    const char *text;
    size_t n;
    struct part *cells;
    size_t count;
};

static size_t after_blank(const struct places *p, size_t i)
{
    while (i < p->n && memchr(" \t\r\n", p->text[i], 4))
        i++;
    return i;
}

static size_t after_string(const struct places *p, size_t i)
{
    for (i++; i < p->n && p->text[i] != '"'; i++)
        i += p->text[i] == '\\';
    return i < p->n ? i + 1 : p->n;
}

static size_t after_value(const struct places *p, size_t i)
{
    size_t depth = 0;
    for (i = after_blank(p, i); i < p->n;) {
        char c = p->text[i];
        if (c == '"') {
            i = after_string(p, i);
        } else if (depth == 0 && memchr(",]} \t\r\n", c, 7)) {
            return i;
        } else {
            depth += c == '{' || c == '[';
            depth -= depth && (c == '}' || c == ']');
            i++;
            if (depth || !(c == '}' || c == ']'))
                continue;
        }
        if (depth == 0)
            return i;
    }
    return p->n;
}

static void find_elements(struct places *p, size_t i)
{
    size_t cap = 0;
    for (i = after_blank(p, i + 1); i < p->n && p->text[i] != ']'; i = after_blank(p, i)) {
        struct part part = {i, after_value(p, i)};
        if (p->count == cap)
            p->cells = mem_resize(p->cells, cap = cap ? 2 * cap : 64, sizeof *p->cells);
        p->cells[p->count++] = part;
        i = after_blank(p, part.to);
        i += i < p->n && p->text[i] == ',';
    }
}

// `text` is JSON, an object.
static void find_cells(struct places *p)
{
    static const char name[] = "\"cells\"";
    size_t i = p->n >= 3 && memcmp(p->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (i = after_blank(p, i) + 1; i < p->n;) {
        size_t key = after_blank(p, i), end = after_string(p, key);
        size_t value = after_blank(p, after_blank(p, end) + 1);
        bool is = end - key == sizeof name - 1 && memcmp(p->text + key, name, end - key) == 0;
        if (is && value < p->n && p->text[value] == '[') {
            p->count = 0; // of two, the last one counts
            find_elements(p, value);
        }
        i = after_blank(p, after_value(p, value)) + 1;
    }
}

// What was in the file, to be compared with what is now.
struct before {
    struct places at;
    char (*digests)[SHA256_HEX]; // of each cell's JSON; "": its bytes are no longer valid
    bool same_rest;              // all but the cells is as it was
    cJSON *raw;                  // the file
};

static void before_done(struct before *b)
{
    free(b->at.cells);
    free(b->digests);
    cJSON_Delete(b->raw);
}

static void digest_of(const cJSON *j, char hex[SHA256_HEX])
{
    AUTO_BUF text = {0};
    json_print_canonical(&text, j);
    sha256_hex(text.data, text.len, hex);
}

static bool same_rest(const cJSON *a, const cJSON *b)
{
    AUTO_JSON *x = cJSON_CreateObject(), *y = cJSON_CreateObject();
    const cJSON *of[] = {a, b};
    cJSON *to[] = {x, y};
    char digest[2][SHA256_HEX];
    for (int k = 0; k < 2; k++) {
        for (const cJSON *item = of[k]->child; item; item = item->next)
            if (!str_eq(item->string, "cells"))
                json_set(to[k], item->string, cJSON_Duplicate(item, true));
        digest_of(to[k], digest[k]);
    }
    return str_eq(digest[0], digest[1]);
}

// false: the file has no cells whose bytes could stay.
static bool look_back(const notebook *nb, const cJSON *now, struct before *b)
{
    b->at = (struct places){.text = nb->came, .n = nb->came_n};
    b->raw = json_parse_python(nb->came, nb->came_n, NULL);
    notebook *was = notebook_parse_ipynb(nb->came, nb->came_n, NULL);
    AUTO_JSON *then = was ? notebook_to_ipynb(was, NULL, NULL) : NULL;
    int minor = was ? was->minor : 0;
    notebook_free(was);
    if (!then || !b->raw)
        return false;
    find_cells(&b->at);
    const cJSON *cells = json_get(then, "cells"), *raw = json_get(b->raw, "cells");
    if ((size_t)cJSON_GetArraySize(cells) != b->at.count ||
        (size_t)cJSON_GetArraySize(raw) != b->at.count)
        return false;
    b->same_rest = same_rest(then, now);
    b->digests = mem_array(b->at.count + 1, sizeof *b->digests);
    const cJSON *c = cells->child, *came = raw->child;
    for (size_t i = 0; i < b->at.count; i++, c = c->next, came = came->next)
        if (minor < 5 || str_eq(json_str(came, "id"), json_str(c, "id")) ||
            (i == 0 && str_eq(json_str(c, "id"), FRONT_ID) && json_str(came, "id")))
            digest_of(c, b->digests[i]);
    return true;
}

// The cell of the file that is this one, from `from` on and then from the first; false: none is.
static bool find_before(const struct before *b, const cJSON *c, size_t from, size_t *at)
{
    char hex[SHA256_HEX];
    digest_of(c, hex);
    for (size_t k = 0; k < b->at.count; k++) {
        *at = (from + k) % b->at.count;
        if (str_eq(b->digests[*at], hex))
            return true;
    }
    return false;
}

// The line break and the blanks before the first cell; "": the file is one line.
static char *indentation(const struct places *p)
{
    size_t to = p->cells[0].from, from = to;
    while (from > 0 && memchr(" \t\r\n", p->text[from - 1], 4))
        from--;
    const char *line = memrchr(p->text + from, '\n', to - from);
    return line ? mem_strndup(line, (size_t)(p->text + to - line)) : mem_strdup("");
}

// With the indentation of the file's other cells.
static void print_anew(const cJSON *c, const char *indent, buf *out)
{
    AUTO_BUF text = {0};
    size_t depth = strlen(indent);
    if (!depth) {
        json_print(out, c);
        return;
    }
    json_print_pretty(&text, c, depth > 2 ? (int)(depth - 1) / 2 : 1);
    for (const char *p = buf_cstr(&text); *p; p++) {
        if (*p == '\n')
            buf_str(out, indent);
        else
            buf_char(out, *p);
    }
}

static void print_cells(const struct before *b, const cJSON *cells, buf *out)
{
    const struct places *p = &b->at;
    AUTO_FREE char *indent = indentation(p);
    size_t next = 0, at;
    for (const cJSON *c = cells->child; c; c = c->next) {
        bool is = find_before(b, c, next, &at);
        if (c != cells->child && is && at == next && at > 0)
            buf_add(out, p->text + p->cells[at - 1].to, p->cells[at].from - p->cells[at - 1].to);
        else if (c != cells->child)
            buf_fmt(out, ",%s", *indent ? indent : " ");
        if (is)
            buf_add(out, p->text + p->cells[at].from, p->cells[at].to - p->cells[at].from);
        else
            print_anew(c, indent, out);
        next = is ? at + 1 : next + 1;
    }
}

// All but the cells has changed: members in the order of the file, and those that only it knows.
static void print_rest(const struct before *b, cJSON *now, const char *cells, buf *out)
{
    AUTO_JSON *j = cJSON_CreateObject();
    AUTO_FREE char *indent = indentation(&b->at);
    AUTO_BUF list = {0};
    buf_fmt(&list, "[%s%s", indent, cells);
    buf_add(&list, indent, *indent ? (strlen(indent) + 1) / 2 : 0);
    buf_char(&list, ']');
    for (const cJSON *item = b->raw->child; item; item = item->next) {
        cJSON *own = cJSON_DetachItemFromObjectCaseSensitive(now, item->string);
        json_set(j, item->string, own ? own : cJSON_Duplicate(item, true));
    }
    while (now->child) {
        cJSON *item = cJSON_DetachItemViaPointer(now, now->child);
        AUTO_FREE char *key = mem_strdup(item->string);
        json_set(j, key, item);
    }
    json_set(j, "cells", cJSON_CreateRaw(buf_cstr(&list)));
    json_print_pretty(out, j, *indent ? (int)(strlen(indent) - 1) / 2 : 0);
    if (b->at.text[b->at.n - 1] == '\n')
        buf_char(out, '\n');
}

static bool print_as_it_came(const notebook *nb, cJSON *now, buf *out)
{
    CLEANUP(before_done) struct before b = {0};
    const cJSON *cells = json_get(now, "cells");
    if (!nb->came || !look_back(nb, now, &b))
        return false;
    if (!b.at.count || !cells->child) { // none, now and then
        bool same = b.same_rest && !b.at.count && !cells->child;
        buf_add(out, b.at.text, same ? b.at.n : 0);
        return same;
    }
    AUTO_BUF list = {0};
    print_cells(&b, cells, &list);
    const struct places *p = &b.at;
    if (!b.same_rest) {
        print_rest(&b, now, buf_cstr(&list), out);
        return true;
    }
    size_t tail = p->cells[p->count - 1].to;
    buf_add(out, p->text, p->cells[0].from);
    buf_add(out, list.data, list.len);
    buf_add(out, p->text + tail, p->n - tail);
    return true;
}

void ipynb_print(const notebook *nb, cJSON *now, buf *out)
{
    if (print_as_it_came(nb, now, out))
        return;
    json_print_pretty(out, now, 1);
    buf_char(out, '\n');
}
