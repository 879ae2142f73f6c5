// SPDX-License-Identifier: MIT
#include "tui/part/tabledata.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rowset.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/part/filter.h"
#include "tui/part/tablevalue.h"

#include <string.h>

enum { WIDTHS = 256, FIRST_SIZE = 64 };

struct column_of {
    char *name;
    int name_width;
    bool keep;
    uint32_t widths[WIDTHS]; // how many entries have this width; the last: or a larger one
};

struct tabledata {
    struct column_of *columns;
    int n_columns, age;
    struct table_row **hashed; // chains; their number is a power of two
    size_t n_hashed, total;
    struct table_row **shown;
    size_t count, room;
    uint64_t came; // number of rows so far
    char *pattern;
    int sort;
    bool reverse;
};

tabledata *tabledata_new(void)
{
    tabledata *t = mem_alloc(sizeof *t);
    t->age = t->sort = -1;
    t->pattern = mem_strdup("");
    return t;
}

static void drop_rows(tabledata *t)
{
    for (size_t i = 0; i < t->n_hashed; i++)
        for (struct table_row *r = t->hashed[i], *next; r; r = next) {
            next = r->next;
            free(r);
        }
    free(STEAL(t->hashed));
    t->n_hashed = t->total = t->count = 0;
}

static void drop_columns(tabledata *t)
{
    for (int i = 0; i < t->n_columns; i++)
        free(t->columns[i].name);
    free(STEAL(t->columns));
    t->n_columns = 0;
}

void tabledata_free(tabledata *t)
{
    if (!t)
        return;
    drop_rows(t);
    drop_columns(t);
    free(t->shown);
    free(t->pattern);
    free(t);
}

// Order.

static int compare_words(const char *a, const char *b)
{
    int by = strverscmp(a, b);
    return *a && *b ? by : !*a - !*b; // empty entries come last
}

static int compare(const tabledata *t, const struct table_row *a, const struct table_row *b)
{
    int by = 0;
    if (t->sort >= 0 && a->has_worth && b->has_worth)
        by = (a->worth > b->worth) - (a->worth < b->worth);
    else if (t->sort >= 0 && a->has_worth != b->has_worth)
        by = a->has_worth ? -1 : 1;
    else if (t->sort >= 0)
        by = compare_words(a->cells[t->sort], b->cells[t->sort]);
    if (by)
        return t->reverse ? -by : by;
    return (a->number > b->number) - (a->number < b->number);
}

static int compare_rows(const void *a, const void *b, void *t)
{
    return compare(t, *(struct table_row *const *)a, *(struct table_row *const *)b);
}

static void weigh(const tabledata *t, struct table_row *r)
{
    r->has_worth = false;
    if (t->sort >= 0 && t->sort == t->age && r->created) {
        r->worth = -(double)r->created; // the youngest row has the smallest age
        r->has_worth = true;
    } else if (t->sort >= 0) {
        r->has_worth = tablevalue_worth(r->cells[t->sort], &r->worth);
    }
}

// The place of a row, or the place where it would be inserted.
static size_t position(const tabledata *t, const struct table_row *r)
{
    size_t lo = 0, hi = t->count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (compare(t, t->shown[middle], r) < 0)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

static bool matches(const tabledata *t, const struct table_row *r)
{
    bool turned = *t->pattern == '!', found = false;
    const char *words = t->pattern + turned;
    for (int i = 0; i < t->n_columns && !found && *words; i++)
        found = filter_match(words, r->cells[i]);
    return !*words || found != turned;
}

static void reserve(tabledata *t)
{
    if (t->room > t->total)
        return;
    t->room = 2 * t->total + FIRST_SIZE;
    t->shown = mem_resize(t->shown, t->room, sizeof(struct table_row *));
}

static void show(tabledata *t, struct table_row *r)
{
    r->shown = matches(t, r);
    if (!r->shown)
        return;
    size_t at = position(t, r);
    memmove(t->shown + at + 1, t->shown + at, (t->count - at) * sizeof(struct table_row *));
    t->shown[at] = r;
    t->count++;
}

static void hide(tabledata *t, struct table_row *r)
{
    if (!r->shown)
        return;
    size_t at = position(t, r);
    t->count--;
    memmove(t->shown + at, t->shown + at + 1, (t->count - at) * sizeof(struct table_row *));
}

// Arranges all rows, after the filter or the order has changed.
static void arrange(tabledata *t)
{
    t->count = 0;
    reserve(t);
    for (size_t i = 0; i < t->n_hashed; i++)
        for (struct table_row *r = t->hashed[i]; r; r = r->next) {
            weigh(t, r);
            r->shown = matches(t, r);
            if (r->shown)
                t->shown[t->count++] = r;
        }
    qsort_r(t->shown, t->count, sizeof(struct table_row *), compare_rows, t);
}

// Rows.

static size_t hash(const char *uid)
{
    uint64_t h = UINT64_C(14695981039346656037); // FNV-1a
    for (; *uid; uid++)
        h = (h ^ (unsigned char)*uid) * UINT64_C(1099511628211);
    return (size_t)(h ^ h >> 32);
}

static struct table_row **chain(const tabledata *t, const char *uid)
{
    return &t->hashed[hash(uid) & (t->n_hashed - 1)];
}

static struct table_row *find(const tabledata *t, const char *uid)
{
    struct table_row *r = t->n_hashed ? *chain(t, uid) : NULL;
    while (r && !str_eq(r->uid, uid))
        r = r->next;
    return r;
}

static void rehash(tabledata *t)
{
    struct table_row **was = t->hashed;
    size_t n = t->n_hashed;
    t->n_hashed = n ? 2 * n : FIRST_SIZE;
    t->hashed = mem_array(t->n_hashed, sizeof(struct table_row *));
    for (size_t i = 0; i < n; i++)
        for (struct table_row *r = was[i], *next; r; r = next) {
            next = r->next;
            struct table_row **at = chain(t, r->uid);
            r->next = *at;
            *at = r;
        }
    free(was);
}

static void count_widths(tabledata *t, const struct table_row *r, int by)
{
    for (int i = 0; i < t->n_columns; i++) {
        int w = text_width(r->cells[i], strlen(r->cells[i]), 0);
        t->columns[i].widths[w < WIDTHS ? w : WIDTHS - 1] += (uint32_t)by;
    }
}

// A row and its texts are one block of memory.
static struct table_row *row_new(const tabledata *t, const cJSON *columns, const cJSON *json)
{
    size_t at[TABLE_COLUMNS], uid, name;
    AUTO_BUF texts = {0}, words = {0};
    for (int i = 0; i < t->n_columns; i++) {
        tablevalue_entry(columns, json, i, &words);
        at[i] = texts.len;
        buf_add(&texts, buf_cstr(&words), words.len + 1);
    }
    uid = texts.len;
    buf_add(&texts, json_str_or(json, "uid", ""), strlen(json_str_or(json, "uid", "")) + 1);
    name = json_str(json, "name") || !t->n_columns ? texts.len : at[0];
    buf_str(&texts, json_str_or(json, "name", ""));
    struct table_row *r = mem_alloc(sizeof *r + texts.len + 1);
    char *own = memcpy(r + 1, texts.data, texts.len + 1);
    for (int i = 0; i < t->n_columns; i++)
        r->cells[i] = own + at[i];
    r->uid = own + uid;
    r->name = own + name;
    const char *created = json_str(json, "created");
    if (!created || clock_parse_rfc3339(created, &r->created, NULL) != 0)
        r->created = 0;
    return r;
}

static void link_row(tabledata *t, struct table_row *r)
{
    if (t->total >= t->n_hashed)
        rehash(t);
    struct table_row **at = chain(t, r->uid);
    r->next = *at;
    *at = r;
    t->total++;
    count_widths(t, r, 1);
    reserve(t);
    weigh(t, r);
}

static void unlink_row(tabledata *t, struct table_row *r)
{
    struct table_row **at = chain(t, r->uid);
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    t->total--;
    count_widths(t, r, -1);
}

static void load_columns(tabledata *t, const cJSON *table)
{
    const cJSON *columns = json_get(table, "columns");
    drop_columns(t);
    t->n_columns = tablevalue_width(table, TABLE_COLUMNS);
    t->columns = mem_array((size_t)t->n_columns + 1, sizeof *t->columns);
    t->age = tablevalue_age_column(table);
    for (int i = 0; i < t->n_columns; i++) {
        struct column_of *c = &t->columns[i];
        c->name = mem_strdup(tablevalue_column(columns, i));
        c->name_width = text_width(c->name, strlen(c->name), 0);
        c->keep = tablevalue_keeps(table, c->name);
    }
}

void tabledata_load(tabledata *t, const cJSON *table)
{
    const cJSON *columns = json_get(table, "columns"), *row;
    drop_rows(t);
    load_columns(t, table);
    t->sort = t->sort < t->n_columns ? t->sort : -1;
    cJSON_ArrayForEach(row, json_get(table, "rows"))
    {
        struct table_row *r = row_new(t, columns, row);
        r->number = ++t->came;
        link_row(t, r);
    }
    arrange(t);
}

static cJSON *columns_json(const tabledata *t)
{
    cJSON *columns = cJSON_CreateArray();
    for (int i = 0; i < t->n_columns; i++)
        cJSON_AddItemToArray(columns, cJSON_CreateString(t->columns[i].name));
    return columns;
}

void tabledata_change(tabledata *t, const cJSON *rows)
{
    AUTO_JSON *columns = columns_json(t);
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        const char *uid = json_str(row, "uid");
        struct table_row *was = uid ? find(t, uid) : NULL, *r = NULL;
        if (was)
            hide(t, was);
        if (!json_bool_or(row, "deleted", false) && (was || t->total < ROWSET_TABLE)) {
            r = row_new(t, columns, row);
            r->number = was ? was->number : ++t->came;
        }
        if (was)
            unlink_row(t, was);
        free(was);
        if (!r)
            continue;
        link_row(t, r);
        show(t, r);
    }
}

// Questions about the table.

int tabledata_columns(const tabledata *t)
{
    return t->n_columns;
}

const char *tabledata_column(const tabledata *t, int column)
{
    return t->columns[column].name;
}

int tabledata_width(const tabledata *t, int column)
{
    const struct column_of *c = &t->columns[column];
    int w = WIDTHS - 1, least = column == t->age ? AGE_WIDTH : 0;
    while (w > 0 && c->widths[w] == 0)
        w--;
    least = c->name_width > least ? c->name_width : least;
    return w > least ? w : least;
}

void tabledata_measure(const tabledata *t, struct table_column *out)
{
    for (int i = 0; i < t->n_columns; i++)
        out[i] = (struct table_column){tabledata_width(t, i), t->columns[i].keep};
}

int tabledata_age(const tabledata *t)
{
    return t->age;
}

size_t tabledata_total(const tabledata *t)
{
    return t->total;
}

size_t tabledata_count(const tabledata *t)
{
    return t->count;
}

const struct table_row *tabledata_at(const tabledata *t, size_t i)
{
    return i < t->count ? t->shown[i] : NULL;
}

size_t tabledata_find(const tabledata *t, const char *uid)
{
    const struct table_row *r = find(t, uid);
    return r && r->shown ? position(t, r) : SIZE_MAX;
}

void tabledata_filter(tabledata *t, const char *pattern)
{
    if (str_eq(pattern, t->pattern))
        return;
    free(t->pattern);
    t->pattern = mem_strdup(pattern);
    arrange(t);
}

void tabledata_sort(tabledata *t, int column, bool reverse)
{
    t->sort = column < t->n_columns ? column : -1;
    t->reverse = reverse;
    arrange(t);
}

int tabledata_sorted(const tabledata *t, bool *reverse)
{
    *reverse = t->reverse;
    return t->sort;
}
