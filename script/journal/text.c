// SPDX-License-Identifier: MIT
#include "script/journal/text.h"

#include "base/clock.h"
#include "base/json/rowset.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/ansi.h"
#include "script/journal/file/spool.h"

#include <ctype.h>
#include <string.h>

enum { DEFAULT_LIMIT = 1 << 20 };

static const cJSON *table_of(const cJSON *data)
{
    for (const cJSON *part = data ? data->child : NULL; part; part = part->next)
        if (cJSON_IsArray(json_get(part, "columns")) && cJSON_IsArray(json_get(part, "rows")))
            return part;
    return NULL;
}

// The table of a MIME bundle, {"columns": [name | {"name"}…], "rows": [{"uid", "cells": […]}…]} or
// rows with a member for each column, in aligned columns; live: its ages are counted up to now.
// false: the bundle has no table.
static bool bundle_table(const cJSON *data, bool live, buf *out)
{
    const cJSON *table = table_of(data);
    if (!table)
        return false;
    tabletext_print(table, tabletext_now(table, live, clock_wall()), out);
    rowset_say_more(json_int_or(table, "more", 0), out);
    if (json_str(table, "note"))
        buf_fmt(out, "-- %s --\n", json_str(table, "note"));
    return true;
}

// Length of a sequence that only changes the look of text; 0: another one.
static size_t look_length(const char *s, size_t n)
{
    size_t i = 2;
    if (n < 3 || s[0] != '\033' || s[1] != '[')
        return 0;
    while (i < n && ((s[i] >= '0' && s[i] <= '9') || s[i] == ';' || s[i] == ':'))
        i++;
    return i < n && s[i] == 'm' ? i + 1 : 0;
}

static size_t plain_length(const char *s, size_t n)
{
    static const bool ends[256] = {
        [0 ... 8] = true, [11 ... 31] = true, [0x7F] = true, [0xC2] = true}; // C1, perhaps
    size_t i = 0;
    while (i < n && !ends[(unsigned char)s[i]])
        i++;
    return i;
}

// Appends a text in which nothing is overwritten, as most are; false: something is.
static bool settle_plain(const char *text, size_t n, buf *out)
{
    size_t start = out->len;
    for (size_t i = 0; i < n;) {
        size_t plain = plain_length(text + i, n - i);
        size_t skip = plain ? 0 : look_length(text + i, n - i);
        if (!plain && !skip) {
            out->len = start;
            buf_reserve(out, 1);
            out->data[start] = '\0';
            return false;
        }
        buf_add(out, text + i, plain);
        i += plain + skip;
    }
    return true;
}

void text_settle(const char *text, size_t n, buf *out)
{
    if (settle_plain(text, n, out))
        return;
    ansi_text *t = ansi_text_new(0);
    ansi_text_feed(t, text, n);
    size_t lines = ansi_text_lines(t);
    for (size_t i = 0; i < lines; i++) {
        struct ansi_line line = ansi_text_line(t, i);
        buf_add(out, line.text, line.n);
        if (i + 1 < lines || !ansi_text_is_open(t))
            buf_char(out, '\n');
    }
    ansi_text_free(t);
}

static size_t limit_or_default(size_t limit)
{
    return limit ? limit : DEFAULT_LIMIT;
}

// The head and the tail of `n` bytes, each half of the limit, cut between lines where possible.
static void cut(const char *text, size_t n, size_t limit, buf *out)
{
    if (n <= limit) {
        buf_add(out, text, n);
        return;
    }
    size_t head = limit / 2, tail = n - limit / 2;
    while (head > limit / 4 && text[head - 1] != '\n')
        head--;
    while (tail < n - limit / 4 && text[tail - 1] != '\n')
        tail++;
    buf_add(out, text, head);
    buf_fmt(out, "%s[… %zu bytes left out …]\n", head && text[head - 1] != '\n' ? "\n" : "",
        tail - head);
    buf_add(out, text + tail, n - tail);
}

static int spooled_bytes(const struct output *o, const char *dir, size_t limit, buf *out, err *e)
{
    spool *s = spool_open(dir, o->spool, e);
    if (!s)
        return -1;
    int result;
    uint64_t n = o->to - o->from, half = limit / 2;
    if (o->to < o->from || n <= limit) {
        result = spool_read(s, o->from, o->to, out, e);
    } else {
        result = spool_read(s, o->from, o->from + half, out, e);
        buf_fmt(out, "\n[… %llu bytes left out …]\n", (unsigned long long)(n - 2 * half));
        if (result == 0)
            result = spool_read(s, o->to - half, o->to, out, e);
    }
    spool_close(s);
    return result;
}

int output_bytes(const struct output *o, const char *spool_dir, size_t limit, buf *out, err *e)
{
    limit = limit_or_default(limit);
    if (!o->spool) {
        cut(o->text, o->text_n, limit, out);
        return 0;
    }
    AUTO_BUF bytes = {0};
    if (spooled_bytes(o, spool_dir, limit, &bytes, e) < 0)
        return -1;
    utf8_clean(out, buf_cstr(&bytes), bytes.len);
    return 0;
}

static void end_line(buf *out, size_t start)
{
    if (out->len > start && out->data[out->len - 1] != '\n')
        buf_char(out, '\n');
}

// A frame of a traceback; one of another language may have colours and several lines.
static void frame_text(const char *frame, buf *out)
{
    AUTO_BUF plain = {0};
    text_settle(frame, strlen(frame), &plain);
    size_t n = plain.len;
    while (n && plain.data[n - 1] == '\n')
        n--;
    for (const char *at = buf_cstr(&plain), *end = at + n; at <= end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t line = (size_t)((newline ? newline : end) - at);
        buf_str(out, line ? "\n  " : "\n");
        buf_add(out, at, line);
        at += line + 1;
    }
}

static void error_text(const struct output *o, buf *out)
{
    int64_t line = json_int_or(o->data, "line", 0);
    if (line)
        buf_fmt(out, "line %lld: ", (long long)line);
    const cJSON *entry, *traceback = json_get(o->data, "traceback");
    if (!(traceback && traceback->child) && o->name && isupper((unsigned char)*o->name))
        buf_fmt(out, "%s: ", o->name); // of another language: "NameError"
    buf_str(out, o->text);
    cJSON_ArrayForEach(entry, traceback)
    {
        if (cJSON_IsString(entry))
            frame_text(entry->valuestring, out);
    }
}

const char *output_branch(const struct run_cell *c, size_t k)
{
    const char *branch = c->outputs[k].branch, *before = k ? c->outputs[k - 1].branch : NULL;
    if (c->outputs[k].kind == OUTPUT_ERROR)
        return NULL;
    return str_eq(branch, before) ? NULL : branch ? branch : "";
}

void output_branch_heading(const char *branch, buf *out)
{
    buf_fmt(out, "── %s\n", *branch ? branch : "the cell");
}

void output_heading(const struct run_cell *c, size_t k, buf *out)
{
    const char *branch = output_branch(c, k);
    if (branch)
        output_branch_heading(branch, out);
}

int output_text(const struct output *o, const char *spool_dir, size_t limit, buf *out, err *e)
{
    size_t start = out->len;
    if (o->kind == OUTPUT_STREAM) {
        AUTO_BUF bytes = {0};
        if (output_bytes(o, spool_dir, limit, &bytes, e) < 0)
            return -1;
        text_settle(buf_cstr(&bytes), bytes.len, out);
    } else if (o->kind == OUTPUT_ERROR) {
        error_text(o, out);
    } else if (!o->rows_newer || !bundle_table(o->data, o->live, out)) {
        const char *text = json_str_or(o->data, "text/plain", "");
        text_settle(text, strlen(text), out);
    }
    end_line(out, start);
    return 0;
}
