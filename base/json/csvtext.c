// SPDX-License-Identifier: MIT
#include "base/json/csvtext.h"

#include "base/str.h"

#include <stdbool.h>
#include <string.h>

struct reading {
    const char *at, *end;
    char separator;
    int line; // 1-based
    buf field;
};

static bool starts_with_mark(const char *text, size_t n)
{
    return n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3);
}

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

// Passes CRLF, LF or CR.
static void pass_line_end(struct reading *r)
{
    bool is_first = *r->at++ == '\r';
    if (is_first && r->at < r->end && *r->at == '\n')
        r->at++;
    r->line++;
}

// Reads up to the closing quote; two quotes are one.
static int read_quoted(struct reading *r, err *e)
{
    int first = r->line;
    for (r->at++; r->at < r->end; r->at++) {
        if (*r->at == '"') {
            r->at++;
            if (r->at == r->end || *r->at == r->separator || is_line_end(*r->at))
                return 0;
            if (*r->at != '"')
                return err_set(
                    e, ERR_INVALID, "line %d: a closing quote stands before other text", r->line);
        }
        r->line += *r->at == '\n';
        buf_char(&r->field, *r->at);
    }
    return err_set(e, ERR_INVALID, "line %d: a quote is not closed", first);
}

static int read_field(struct reading *r, cJSON *row, err *e)
{
    buf_clear(&r->field);
    if (r->at < r->end && *r->at == '"') {
        if (read_quoted(r, e))
            return -1;
    } else
        for (; r->at < r->end && *r->at != r->separator && !is_line_end(*r->at); r->at++)
            buf_char(&r->field, *r->at);
    cJSON_AddItemToArray(row, cJSON_CreateString(buf_cstr(&r->field)));
    return 0;
}

// The fields up to the end of the line.
static int read_row(struct reading *r, cJSON *row, err *e)
{
    for (;;) {
        if (read_field(r, row, e))
            return -1;
        if (r->at == r->end)
            return 0;
        if (*r->at != r->separator) {
            pass_line_end(r);
            return 0;
        }
        r->at++;
    }
}

static int read_rows(struct reading *r, cJSON *rows, err *e)
{
    while (r->at < r->end) {
        if (is_line_end(*r->at)) {
            pass_line_end(r);
            continue;
        }
        cJSON *row = cJSON_CreateArray();
        cJSON_AddItemToArray(rows, row);
        if (read_row(r, row, e))
            return -1;
    }
    return 0;
}

cJSON *csvtext_parse(const char *text, size_t n, char separator, err *e)
{
    struct reading r = {.at = text, .end = text + n, .separator = separator, .line = 1};
    if (memchr(text, 0, n) || !utf8_valid(text, n)) {
        err_set(e, ERR_INVALID, "it is no UTF-8 text");
        return NULL;
    }
    if (starts_with_mark(text, n))
        r.at += 3;
    cJSON *rows = cJSON_CreateArray();
    if (read_rows(&r, rows, e)) {
        cJSON_Delete(rows);
        rows = NULL;
    }
    buf_done(&r.field);
    return rows;
}

void csvtext_print_field(buf *out, const char *field, size_t n, char separator)
{
    bool quoted = n == 0 || field[0] == ' ' || field[n - 1] == ' ' || starts_with_mark(field, n);
    for (size_t i = 0; i < n && !quoted; i++)
        quoted = field[i] == separator || field[i] == '"' || is_line_end(field[i]);
    if (!quoted) {
        buf_add(out, field, n);
        return;
    }
    buf_char(out, '"');
    for (size_t i = 0; i < n; i++) {
        if (field[i] == '"')
            buf_char(out, '"');
        buf_char(out, field[i]);
    }
    buf_char(out, '"');
}
