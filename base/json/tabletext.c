// SPDX-License-Identifier: MIT
#include "base/json/tabletext.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

// WORDS: the most words in a summary; the rest is "other". DISTINCT: the most words that are
// counted for it.
enum { WORDS = 12, DISTINCT = 64 };

const char *tabletext_column(const cJSON *column)
{
    return cJSON_IsString(column) ? column->valuestring : json_str_or(column, "name", "");
}

bool tabletext_is_wide(const cJSON *column)
{
    return json_bool_or(column, "wide", false);
}

bool tabletext_is_late(const cJSON *column)
{
    return json_bool_or(column, "late", false);
}

bool tabletext_is_right(const cJSON *column)
{
    return str_eq(json_str(column, "align"), "right");
}

const cJSON *tabletext_cell(const cJSON *row, const cJSON *column, int i)
{
    const cJSON *cells = cJSON_IsArray(row) ? row : json_get(row, "cells");
    return cells ? cJSON_GetArrayItem(cells, i) : json_get(row, tabletext_column(column));
}

int64_t tabletext_now(const cJSON *table, bool live, int64_t now_wall)
{
    int64_t at;
    const char *words = json_str(table, "at");
    return !live && words && clock_parse_rfc3339(words, &at, NULL) == 0 ? at : now_wall;
}

bool tabletext_since(const cJSON *entry, int64_t *wall_ns)
{
    const char *words = cJSON_IsObject(entry) ? json_str(entry, "since") : NULL;
    return words && clock_parse_rfc3339(words, wall_ns, NULL) == 0;
}

void tabletext_entry(const cJSON *entry, int64_t now_wall, buf *out)
{
    int64_t since;
    if (!entry || cJSON_IsNull(entry))
        return;
    if (cJSON_IsString(entry)) {
        buf_str(out, entry->valuestring);
    } else if (tabletext_since(entry, &since)) {
        buf_str(out, json_str_or(entry, "before", ""));
        duration_age(out, now_wall > since ? now_wall - since : 0);
        buf_str(out, json_str_or(entry, "after", ""));
    } else {
        json_print(out, entry);
    }
}

cJSON *tabletext_age(const char *before, const char *since, const char *after)
{
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddItemToObjectCS(entry, "since", cJSON_CreateString(since));
    if (before && *before)
        cJSON_AddItemToObjectCS(entry, "before", cJSON_CreateString(before));
    if (after && *after)
        cJSON_AddItemToObjectCS(entry, "after", cJSON_CreateString(after));
    return entry;
}

// Order.

struct place {
    const cJSON *row;
    double worth;
    size_t number;
};

static int by_worth(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->worth != y->worth)
        return x->worth > y->worth ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int find_column(const cJSON *table, const char *name)
{
    const cJSON *column;
    int i = 0;
    cJSON_ArrayForEach(column, json_get(table, "columns"))
    {
        if (name && str_eq(tabletext_column(column), name))
            return i;
        i++;
    }
    return -1;
}

static double worth_of(const cJSON *row, bool sick, int column)
{
    int64_t since = 0;
    if (sick)
        return (double)json_int_or(row, "sick", 0);
    if (column >= 0 && tabletext_since(tabletext_cell(row, NULL, column), &since))
        return (double)since;
    return 0;
}

const cJSON **tabletext_rows(const cJSON *table, size_t *n)
{
    const cJSON *rows = json_get(table, "rows"), *row;
    const char *order = json_str(table, "order");
    bool sick = order && str_eq(order, TABLETEXT_SICK);
    int column = find_column(table, order);
    size_t count = (size_t)cJSON_GetArraySize(rows), i = 0;
    struct place *places = mem_array(count + 1, sizeof *places);
    const cJSON **ordered = mem_array(count + 1, sizeof *ordered);
    cJSON_ArrayForEach(row, rows)
    {
        places[i] = (struct place){row, worth_of(row, sick, column), i};
        i++;
    }
    if (sick || column >= 0)
        qsort(places, count, sizeof *places, by_worth);
    for (i = 0; i < count; i++)
        ordered[i] = places[i].row;
    free(places);
    *n = count;
    return ordered;
}

void tabletext_worst_first(const cJSON **rows, size_t n)
{
    AUTO_FREE struct place *sick = mem_array(n + 1, sizeof *sick);
    size_t k = 0, rest = n;
    for (size_t i = n; i-- > 0;) {
        double worth = worth_of(rows[i], true, -1);
        if (worth > 0)
            sick[k++] = (struct place){rows[i], worth, i};
        else
            rows[--rest] = rows[i];
    }
    qsort(sick, k, sizeof *sick, by_worth);
    for (size_t i = 0; i < k; i++)
        rows[i] = sick[i].row;
}

// As text.

// Columns by characters: names may hold more than ASCII.
static size_t width(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += (*text & 0xC0) != 0x80;
    return n;
}

struct printed {
    char **texts; // a row of n after the other, the columns' names first
    size_t n, used;
};

static void take_row(struct printed *p, const cJSON *columns, const cJSON *row, int64_t now)
{
    const cJSON *column;
    int i = 0;
    cJSON_ArrayForEach(column, columns)
    {
        AUTO_BUF text = {0};
        tabletext_entry(tabletext_cell(row, column, i++), now, &text);
        if (!tabletext_is_wide(column))
            p->texts[p->used++] = mem_strdup(buf_cstr(&text));
    }
}

static void print_row(buf *out, char *const *texts, const size_t *widths, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_str(out, texts[i]);
        size_t pad = i + 1 < n ? widths[i] + 3 - width(texts[i]) : 0;
        buf_fmt(out, "%*s", (int)pad, "");
    }
    while (out->len && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    buf_char(out, '\n');
}

static void take_table(struct printed *p, const cJSON *table, int64_t now)
{
    const cJSON *columns = json_get(table, "columns"), *column;
    size_t n_rows;
    AUTO_FREE const cJSON **rows = tabletext_rows(table, &n_rows);
    p->texts = mem_array((size_t)cJSON_GetArraySize(columns) * (n_rows + 1) + 1, sizeof *p->texts);
    cJSON_ArrayForEach(column, columns)
    {
        if (!tabletext_is_wide(column))
            p->texts[p->n++] = mem_strdup(tabletext_column(column));
    }
    p->used = p->n;
    for (size_t i = 0; i < n_rows; i++)
        take_row(p, columns, rows[i], now);
}

void tabletext_print(const cJSON *table, int64_t now, buf *out)
{
    struct printed p = {0};
    take_table(&p, table, now);
    AUTO_FREE size_t *widths = mem_array(p.n + 1, sizeof *widths);
    for (size_t i = 0; i < p.used; i++)
        if (width(p.texts[i]) > widths[i % p.n])
            widths[i % p.n] = width(p.texts[i]);
    for (size_t i = 0; p.n && i < p.used; i += p.n)
        print_row(out, p.texts + i, widths, p.n);
    for (size_t i = 0; i < p.used; i++)
        free(p.texts[i]);
    free(p.texts);
}

// Summary.

struct word {
    const char *text;
    size_t n;
    double worth; // how sick the worst row with it is
};

static int by_sickness(const void *a, const void *b)
{
    const struct word *x = a, *y = b;
    if (x->worth != y->worth)
        return x->worth > y->worth ? -1 : 1;
    return x->n != y->n ? (x->n > y->n ? -1 : 1) : strcmp(x->text, y->text);
}

// NULL: the table of words is full.
static struct word *find_word(struct word *words, size_t *used, const char *text)
{
    for (size_t i = 0; i < *used; i++)
        if (str_eq(words[i].text, text))
            return &words[i];
    if (*used == DISTINCT)
        return NULL;
    words[*used] = (struct word){.text = text};
    return &words[(*used)++];
}

static void count_row(const cJSON *row, int column, struct word *words, size_t *used, size_t *other)
{
    const cJSON *cell = tabletext_cell(row, NULL, column);
    const char *text = cJSON_IsString(cell) && *cell->valuestring ? cell->valuestring : "-";
    struct word *w = find_word(words, used, text);
    double worth = worth_of(row, true, -1);
    if (!w) {
        ++*other;
        return;
    }
    w->n++;
    w->worth = worth > w->worth ? worth : w->worth;
}

void tabletext_summary_of(const cJSON *table, bool (*counts)(const cJSON *row, const void *arg),
    const void *arg, buf *out)
{
    struct word words[DISTINCT];
    size_t used = 0, other = 0, total = 0;
    const cJSON *row;
    int column = find_column(table, json_str(table, "count"));
    if (column < 0)
        return;
    cJSON_ArrayForEach(row, json_get(table, "rows"))
    {
        if (counts && !counts(row, arg))
            continue;
        total++;
        count_row(row, column, words, &used, &other);
    }
    qsort(words, used, sizeof *words, by_sickness);
    for (; used > WORDS; used--)
        other += words[used - 1].n;
    buf_fmt(out, "%zu %s", total,
        json_str_or(table, total == 1 ? "one" : "many", total == 1 ? "row" : "rows"));
    for (size_t i = 0; i < used; i++)
        buf_fmt(out, "%s%zu %s", i ? ", " : ": ", words[i].n, words[i].text);
    if (other)
        buf_fmt(out, ", %zu other", other);
}

void tabletext_summary(const cJSON *table, buf *out)
{
    tabletext_summary_of(table, NULL, NULL, out);
}
