// SPDX-License-Identifier: MIT
#include "tui/part/table/tabledata.h"

#include "base/clock.h"
#include "base/json/rowset.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/part/table/tablevalue.h"

#include <limits.h>
#include <string.h>

enum { WIDTHS = 256, FIRST_SIZE = 64 };

struct column_of {
    char *name;
    int name_width;
    bool keep, wide, late, right;
    size_t said;             // entries that say something
    uint32_t widths[WIDTHS]; // how many entries are so wide; the last: or wider
};

struct tabledata {
    struct column_of *columns;
    int n_columns, left_columns;
    bool aged;                 // it has had an age
    struct table_row **hashed; // chains; a power of two of them
    size_t n_hashed, total;
    struct table_row **shown;
    size_t count, room;
    uint64_t came; // rows so far
    struct tablefilter filter;
    char *filtered; // as it was typed; NULL: nothing
    int64_t now;    // wall ns up to which it counts ages
    bool natural;   // rows without another order stand by their names: pod-9 before pod-10
    int sort;
    bool reverse, chosen; // the order is a person's
};

tabledata *tabledata_new(void)
{
    tabledata *t = mem_alloc(sizeof *t);
    t->sort = TABLE_AS_IT_CAME;
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
    tablefilter_done(&t->filter);
    free(t->filtered);
    free(t);
}

// Order.

static int compare_words(const char *a, const char *b)
{
    int by = strverscmp(a, b);
    return *a && *b ? by : !*a - !*b; // empty entries come last
}

enum { NAMES = 2 }; // columns that name a row: of all namespaces, its own comes before the name

static bool is_ordered(const tabledata *t)
{
    return t->sort != TABLE_AS_IT_CAME;
}

static int compare(const tabledata *t, const struct table_row *a, const struct table_row *b)
{
    int by = 0;
    if (is_ordered(t) && a->has_worth && b->has_worth)
        by = (a->worth > b->worth) - (a->worth < b->worth);
    else if (is_ordered(t) && a->has_worth != b->has_worth)
        by = a->has_worth ? -1 : 1;
    else if (t->sort >= 0)
        by = compare_words(a->cells[t->sort], b->cells[t->sort]);
    if (by)
        return t->reverse ? -by : by;
    for (int i = 0; t->natural && !by && i < t->n_columns && i < NAMES; i++)
        by = strverscmp(a->cells[i], b->cells[i]);
    return by ? by : (a->number > b->number) - (a->number < b->number);
}

static int compare_rows(const void *a, const void *b, void *t)
{
    return compare(t, *(struct table_row *const *)a, *(struct table_row *const *)b);
}

static void weigh(const tabledata *t, struct table_row *r)
{
    r->has_worth = t->sort == TABLE_SICK_FIRST;
    r->worth = -r->sick;
    if (t->sort < 0)
        return;
    r->has_worth = tablevalue_worth(r->cells[t->sort], &r->worth);
    if (!r->has_worth && r->since && r->since[t->sort]) {
        r->worth = -(double)r->since[t->sort]; // the youngest has the least age
        r->has_worth = true;
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

struct at_time {
    const struct table_row *row;
    int64_t now;
};

static void entry_at_time(const void *at, int column, buf *out)
{
    const struct at_time *a = at;
    tabledata_entry(a->row, column, a->now, out);
}

static bool matches(const tabledata *t, const struct table_row *r)
{
    return tablefilter_passes(
        &t->filter, t->n_columns, entry_at_time, &(struct at_time){r, t->now});
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
    struct table_row *r = t->n_hashed && *uid ? *chain(t, uid) : NULL; // "": rows without a uid
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

static const char *after_age(const char *before)
{
    return before + strlen(before) + 1;
}

static int entry_width(const struct table_row *r, int i)
{
    const char *before = r->cells[i], *after = r->since && r->since[i] ? after_age(before) : NULL;
    int w = text_width(before, strlen(before), 0);
    return after ? w + AGE_WIDTH + text_width(after, strlen(after), 0) : w;
}

static void count_widths(tabledata *t, const struct table_row *r, int by)
{
    for (int i = 0; i < t->n_columns; i++) {
        int w = entry_width(r, i);
        t->columns[i].widths[w < WIDTHS ? w : WIDTHS - 1] += (uint32_t)by;
        if ((r->since && r->since[i]) || (*r->cells[i] && !str_eq(r->cells[i], "<none>")))
            t->columns[i].said += (size_t)by;
    }
}

static void add_words(buf *texts, const char *words)
{
    AUTO_BUF clean = {0};
    buf_str(&clean, words);
    tablevalue_clean(&clean);
    buf_add(texts, buf_cstr(&clean), clean.len + 1);
}

// The text of an entry; of an age what stands before it and, after a NUL, what stands after it.
static void add_entry(
    const tabledata *t, const cJSON *columns, const cJSON *json, int i, int64_t *since, buf *texts)
{
    const cJSON *entry = tabletext_cell(json, cJSON_GetArrayItem(columns, i), i);
    AUTO_BUF words = {0};
    if (!tabletext_since(entry, since)) {
        *since = 0;
        tablevalue_entry(columns, json, i, 0, &words);
        buf_add(texts, buf_cstr(&words), words.len + 1);
        return;
    }
    add_words(texts, json_str_or(entry, "before", ""));
    add_words(texts, json_str_or(entry, "after", ""));
}

// A row, its times and its texts are one piece of memory.
static struct table_row *row_new(tabledata *t, const cJSON *columns, const cJSON *json)
{
    size_t uid, name, n = (size_t)t->n_columns;
    AUTO_FREE size_t *at = mem_array(n + 1, sizeof *at);
    AUTO_FREE int64_t *since = mem_array(n + 1, sizeof *since);
    bool aged = false;
    AUTO_BUF texts = {0};
    for (size_t i = 0; i < n; i++) {
        at[i] = texts.len;
        add_entry(t, columns, json, (int)i, &since[i], &texts);
        aged = aged || since[i];
    }
    uid = texts.len;
    buf_add(&texts, json_str_or(json, "uid", ""), strlen(json_str_or(json, "uid", "")) + 1);
    name = json_str(json, "name") || !n ? texts.len : at[0];
    buf_str(&texts, json_str_or(json, "name", ""));
    size_t times = aged ? n * sizeof *since : 0;
    struct table_row *r = mem_alloc(sizeof *r + n * sizeof r->cells[0] + times + texts.len + 1);
    char *after = (char *)(r->cells + n);
    r->since = aged ? memcpy(after, since, times) : NULL;
    char *own = memcpy(after + times, texts.data, texts.len + 1);
    for (size_t i = 0; i < n; i++)
        r->cells[i] = own + at[i];
    r->uid = own + uid;
    r->name = own + name;
    r->sick = (double)json_int_or(json, "sick", 0);
    t->aged = t->aged || aged;
    return r;
}

void tabledata_entry(const struct table_row *r, int column, int64_t now, buf *out)
{
    buf_clear(out);
    buf_str(out, r->cells[column]);
    if (!r->since || !r->since[column])
        return;
    duration_age(out, now > r->since[column] ? now - r->since[column] : 0);
    buf_str(out, after_age(r->cells[column]));
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

// Takes the row of this uid out of the table. Returns its number; 0: there is none.
static uint64_t drop_row(tabledata *t, const char *uid)
{
    struct table_row *r = find(t, uid);
    uint64_t number = r ? r->number : 0;
    if (r) {
        hide(t, r);
        unlink_row(t, r);
        free(r);
    }
    return number;
}

// Adds a row, or puts it in the place of the one with its uid. It is not shown yet.
static struct table_row *put_row(tabledata *t, const cJSON *columns, const cJSON *json)
{
    uint64_t number = drop_row(t, json_str_or(json, "uid", ""));
    struct table_row *r = row_new(t, columns, json);
    r->number = number ? number : ++t->came;
    link_row(t, r);
    return r;
}

static void load_columns(tabledata *t, const cJSON *table)
{
    const cJSON *columns = json_get(table, "columns");
    drop_columns(t);
    int all = tablevalue_width(table, INT_MAX);
    t->n_columns = all < TABLE_COLUMNS ? all : TABLE_COLUMNS;
    t->left_columns = all - t->n_columns;
    t->columns = mem_array((size_t)t->n_columns + 1, sizeof *t->columns);
    t->aged = false;
    for (int i = 0; i < t->n_columns; i++) {
        struct column_of *c = &t->columns[i];
        c->name = mem_strdup(tablevalue_column(columns, i));
        c->name_width = text_width(c->name, strlen(c->name), 0);
        c->keep = tablevalue_keeps(table, c->name);
        c->wide = tabletext_is_wide(cJSON_GetArrayItem(columns, i));
        c->late = tabletext_is_late(cJSON_GetArrayItem(columns, i));
        c->right = tabletext_is_right(cJSON_GetArrayItem(columns, i));
    }
}

// As the table asks for it.
static int own_order(const tabledata *t, const cJSON *table)
{
    const char *order = json_str(table, "order");
    if (order && str_eq(order, TABLETEXT_SICK))
        return TABLE_SICK_FIRST;
    for (int i = 0; order && i < t->n_columns; i++)
        if (str_eq(t->columns[i].name, order))
            return i;
    return TABLE_AS_IT_CAME;
}

static const char *column_name(const void *t, int column)
{
    return tabledata_column(t, column);
}

// The columns may be others than before.
static void set_filter(tabledata *t)
{
    tablefilter_set(
        &t->filter, t->filtered, &(struct tablefilter_columns){t, t->n_columns, column_name});
}

void tabledata_load(tabledata *t, const cJSON *table)
{
    const cJSON *columns = json_get(table, "columns"), *row;
    drop_rows(t);
    load_columns(t, table);
    set_filter(t);
    if (!t->chosen || t->sort >= t->n_columns)
        t->sort = own_order(t, table);
    t->natural = json_bool_or(table, "natural", false);
    cJSON_ArrayForEach(row, json_get(table, "rows"))
    {
        put_row(t, columns, row);
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
        const char *uid = json_str_or(row, "uid", "");
        if (json_bool_or(row, "deleted", false))
            drop_row(t, uid);
        else if (find(t, uid) || t->total < ROWSET_TABLE)
            show(t, put_row(t, columns, row));
    }
}

// Questions about the table.

int tabledata_columns(const tabledata *t)
{
    return t->n_columns;
}

int tabledata_left_columns(const tabledata *t)
{
    return t->left_columns;
}

const char *tabledata_column(const tabledata *t, int column)
{
    return t->columns[column].name;
}

bool tabledata_is_right(const tabledata *t, int column)
{
    return t->columns[column].right;
}

int tabledata_width(const tabledata *t, int column)
{
    const struct column_of *c = &t->columns[column];
    int w = WIDTHS - 1;
    while (w > 0 && c->widths[w] == 0)
        w--;
    return w > c->name_width ? w : c->name_width;
}

void tabledata_measure(const tabledata *t, struct table_column *out)
{
    for (int i = 0; i < t->n_columns; i++)
        out[i] = (struct table_column){.width = tabledata_width(t, i),
            .keep = t->columns[i].keep,
            .wide = t->columns[i].wide,
            .late = t->columns[i].late,
            .bare = t->columns[i].said == 0};
}

bool tabledata_ages(const tabledata *t)
{
    return t->aged && t->count > 0;
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

const struct table_row *tabledata_row(const tabledata *t, const char *uid)
{
    return find(t, uid);
}

bool tabledata_has(const tabledata *t, const char *uid)
{
    return find(t, uid) != NULL;
}

void tabledata_filter(tabledata *t, const char *words, int64_t now_wall)
{
    free(t->filtered);
    t->filtered = mem_strdup(words);
    t->now = now_wall;
    set_filter(t);
    arrange(t);
}

const struct tablefilter *tabledata_filtered(const tabledata *t)
{
    return &t->filter;
}

void tabledata_sort(tabledata *t, int column, bool reverse)
{
    t->sort = column < t->n_columns ? column : TABLE_AS_IT_CAME;
    t->reverse = reverse;
    t->chosen = true;
    arrange(t);
}

int tabledata_sorted(const tabledata *t, bool *reverse)
{
    *reverse = t->reverse;
    return t->sort;
}
