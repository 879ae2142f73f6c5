// SPDX-License-Identifier: MIT
#include "script/journal/html_table.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/html_plain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { COLUMNS = 128, ROWS = 10000, SIZE_WORDS = 60, BYTES = 8 << 20 };

struct reading {
    cJSON *columns, *rows; // names, new; rows of texts
    cJSON *row;            // the one that is being read; NULL: none
    bool in_head, any_data;
    int column;
    struct {
        int rows; // further rows in which the text above stands, too
        char *text;
    } spans[COLUMNS];
};

static bool is_tag(const char *s, const char *name)
{
    size_t n = strlen(name);
    return strncasecmp(s, name, n) == 0 && !isalnum((unsigned char)s[n]);
}

// The tag "<name" from s on; NULL: there is none.
static const char *find_tag(const char *s, const char *name)
{
    while ((s = strchr(s, '<')) && !is_tag(s + 1, name))
        s++;
    return s;
}

// A number of a tag, such as colspan; 1 if it has none.
static int span_of(const char *tag, const char *end, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = tag; at + n < end; at++)
        if (strncasecmp(at, name, n) == 0 && at[n] == '=') {
            at += n + 1;
            int value = atoi(at + (*at == '"' || *at == '\''));
            return value < 1 ? 1 : value > COLUMNS ? COLUMNS : value;
        }
    return 1;
}

static void put(struct reading *r, const char *text)
{
    cJSON_AddItemToArray(r->row, cJSON_CreateString(text));
    r->column++;
}

// Cells of rows above that stand in this one, too.
static void put_spans(struct reading *r)
{
    while (r->column < COLUMNS && r->spans[r->column].rows > 0) {
        r->spans[r->column].rows--;
        put(r, r->spans[r->column].text);
    }
}

static void put_cell(struct reading *r, const char *text, int columns, int rows)
{
    put_spans(r);
    for (int i = 0; i < columns && r->column < COLUMNS; i++) {
        free(r->spans[r->column].text);
        r->spans[r->column].text = mem_strdup(text);
        r->spans[r->column].rows = rows - 1;
        put(r, text);
    }
}

// Adds a row of headings: below a name that is there, the names are joined.
static void add_names(struct reading *r)
{
    const cJSON *cell;
    int i = 0;
    cJSON_ArrayForEach(cell, r->row)
    {
        const cJSON *was = cJSON_GetArrayItem(r->columns, i);
        const char *before = was ? was->valuestring : "";
        bool same = !*cell->valuestring || str_eq(before, cell->valuestring);
        AUTO_FREE char *name =
            same ? mem_strdup(before)
                 : str_fmt("%s%s%s", before, *before ? " " : "", cell->valuestring);
        if (was)
            cJSON_ReplaceItemInArray(r->columns, i, cJSON_CreateString(name));
        else
            cJSON_AddItemToArray(r->columns, cJSON_CreateString(name));
        i++;
    }
}

static void end_row(struct reading *r)
{
    if (!r->row)
        return;
    put_spans(r);
    bool names = r->in_head || !r->any_data;
    if (names)
        add_names(r);
    cJSON *row = STEAL(r->row);
    if (!names && row->child && cJSON_GetArraySize(r->rows) < ROWS)
        cJSON_AddItemToArray(r->rows, row);
    else
        cJSON_Delete(row);
}

// The end of a cell's content: where the next cell, row or part begins or the table ends.
static const char *content_end(const char *s)
{
    static const char *const ends[] = {
        "td", "th", "tr", "/td", "/th", "/tr", "thead", "/thead", "tbody", "/tbody", "/table"};
    while ((s = strchr(s, '<'))) {
        for (size_t i = 0; i < ARRAY_LEN(ends); i++)
            if (is_tag(s + 1, ends[i]))
                return s;
        s++;
    }
    return NULL;
}

static const char *read_cell(struct reading *r, const char *tag, const char *tag_end)
{
    const char *end = content_end(tag_end + 1);
    if (!end || !r->row)
        return end;
    AUTO_FREE char *html = mem_strndup(tag_end + 1, (size_t)(end - tag_end - 1));
    AUTO_BUF text = {0};
    html_plain(html, &text);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '\n')
            text.data[i] = ' ';
    put_cell(
        r, buf_cstr(&text), span_of(tag, tag_end, "colspan"), span_of(tag, tag_end, "rowspan"));
    return end;
}

static void begin_row(struct reading *r)
{
    end_row(r);
    r->row = cJSON_CreateArray();
    r->column = 0;
}

// Reads a tag; returns where to go on, NULL: the table is cut off.
static const char *read_tag(struct reading *r, const char *s)
{
    const char *end = strchr(s, '>');
    if (!end)
        return NULL;
    if (is_tag(s + 1, "thead") || is_tag(s + 1, "/thead")) {
        end_row(r);
        r->in_head = s[1] != '/';
    } else if (is_tag(s + 1, "tr")) {
        begin_row(r);
    } else if (is_tag(s + 1, "/tr")) {
        end_row(r);
    } else if (is_tag(s + 1, "th") || is_tag(s + 1, "td")) {
        // A row with data below no <thead> is one of data from its first cell on.
        r->any_data = r->any_data || (!r->in_head && is_tag(s + 1, "td")) ||
                      (!r->in_head && cJSON_GetArraySize(r->columns) > 0);
        return read_cell(r, s, end);
    }
    return end + 1;
}

// Is each cell of the column a number (or empty), and one of them is?
static bool has_numbers(const cJSON *rows, int column)
{
    const cJSON *row;
    bool any = false;
    cJSON_ArrayForEach(row, rows)
    {
        const cJSON *cell = cJSON_GetArrayItem(row, column);
        const char *text = cell ? cell->valuestring : "";
        char *end;
        strtod(text, &end);
        if (*end && !str_eq(text, "..."))
            return false;
        any = any || (*text && !*end);
    }
    return any;
}

static cJSON *finish(struct reading *r)
{
    int most = cJSON_GetArraySize(r->columns);
    const cJSON *row;
    cJSON_ArrayForEach(row, r->rows)
    {
        int n = cJSON_GetArraySize(row);
        most = n > most ? n : most;
    }
    cJSON *table = cJSON_CreateObject(), *columns = cJSON_CreateArray();
    for (int i = 0; i < most; i++) {
        const cJSON *name = cJSON_GetArrayItem(r->columns, i);
        cJSON *column = cJSON_CreateObject();
        json_set_str(column, "name", name ? name->valuestring : "");
        if (has_numbers(r->rows, i))
            json_set_str(column, "align", "right");
        cJSON_AddItemToArray(columns, column);
    }
    json_set(table, "columns", columns);
    json_set(table, "rows", STEAL(r->rows));
    return table;
}

// Besides a table there is nothing, or its size as pandas ("2 rows × 3 columns") and polars
// ("shape: (2, 3)") say it.
static bool says_nothing(const char *html, size_t n)
{
    AUTO_FREE char *part = mem_strndup(html, n);
    AUTO_BUF text = {0};
    html_plain(part, &text);
    const char *words = buf_cstr(&text);
    bool size = str_starts(words, "shape: (") || strstr(words, " rows × ");
    return !*words || (size && text.len < SIZE_WORDS);
}

cJSON *html_table_read(const char *html)
{
    const char *from = find_tag(html, "table"), *to = from ? find_tag(from, "/table") : NULL;
    const char *second = from ? find_tag(from + 1, "table") : NULL;
    if (!to || second || to - from > BYTES || !says_nothing(html, (size_t)(from - html)) ||
        !says_nothing(to, strlen(to)))
        return NULL;
    struct reading r = {.columns = cJSON_CreateArray(), .rows = cJSON_CreateArray()};
    for (const char *s = from; s && s < to;) {
        s = strchr(s, '<');
        s = s && s < to ? read_tag(&r, s) : NULL;
    }
    end_row(&r);
    cJSON *table = r.rows->child ? finish(&r) : NULL;
    cJSON_Delete(r.rows);
    cJSON_Delete(r.columns);
    for (int i = 0; i < COLUMNS; i++)
        free(r.spans[i].text);
    return table;
}
