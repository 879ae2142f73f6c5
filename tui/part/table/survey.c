// SPDX-License-Identifier: MIT
#include "tui/part/table/survey.h"

#include "base/data/hashmap.h"
#include "base/data/hashset.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/part/table/tablefilter.h"
#include "tui/part/table/tablevalue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 20 };

static void add_text(cJSON *cells, const char *words)
{
    cJSON_AddItemToArray(cells, cJSON_CreateString(words));
}

static void add_column(cJSON *table, const char *name, bool right)
{
    cJSON *column = cJSON_CreateObject();
    json_set_str(column, "name", name);
    if (right)
        json_set_str(column, "align", "right");
    cJSON_AddItemToArray(json_array_at(table, "columns"), column);
}

// Frequencies.

struct value {
    char *words;
    uint64_t count;
};
struct frequency {
    hashmap *places; // of values in the list
    struct value *values;
    size_t n, room;
    uint64_t total, others; // others: entries of values beyond SURVEY_VALUES
};

frequency *frequency_new(void)
{
    frequency *f = mem_alloc(sizeof *f);
    f->places = hashmap_new_borrowing();
    return f;
}

void frequency_free(frequency *f)
{
    if (!f)
        return;
    hashmap_free(f->places);
    for (size_t i = 0; i < f->n; i++)
        free(f->values[i].words);
    free(f->values);
    free(f);
}

void frequency_add(frequency *f, const char *words)
{
    size_t n = strnlen(words, SURVEY_WORDS), at;
    f->total++;
    if (hashmap_get(f->places, words, n, &at)) {
        f->values[at].count++;
        return;
    }
    if (f->n == SURVEY_VALUES) {
        f->others++;
        return;
    }
    if (f->n == f->room) {
        f->room = f->room ? 2 * f->room : 64;
        f->values = mem_resize(f->values, f->room, sizeof *f->values);
    }
    f->values[f->n] = (struct value){mem_strndup(words, n), 1};
    hashmap_set(f->places, f->values[f->n].words, n, f->n);
    f->n++;
}

static int by_count(const void *a_, const void *b_)
{
    const struct value *a = a_, *b = b_;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return strverscmp(a->words, b->words);
}

static void add_value(cJSON *table, const char *uid, const char *words, uint64_t count,
    const frequency *f, uint64_t greatest)
{
    cJSON *row = cJSON_CreateObject(), *cells = json_array_at(row, "cells");
    AUTO_BUF bar = {0}, number = {0}, share = {0};
    buf_fmt(&number, "%llu", (unsigned long long)count);
    buf_fmt(&share, "%.1f", 100.0 * (double)count / (double)f->total);
    for (uint64_t i = 0; i < (count * BAR + greatest - 1) / greatest; i++)
        buf_char(&bar, '#');
    json_set_str(row, "uid", uid);
    add_text(cells, words);
    add_text(cells, buf_cstr(&number));
    add_text(cells, buf_cstr(&share));
    add_text(cells, buf_cstr(&bar));
    cJSON_AddItemToArray(json_array_at(table, "rows"), row);
}

cJSON *frequency_table(const frequency *f, const char *column, size_t most)
{
    cJSON *table = cJSON_CreateObject();
    AUTO_FREE struct value *sorted = mem_array(f->n + 1, sizeof *sorted);
    if (f->n)
        memcpy(sorted, f->values, f->n * sizeof *sorted);
    qsort(sorted, f->n, sizeof *sorted, by_count);
    add_column(table, column, false);
    add_column(table, "COUNT", true);
    add_column(table, "%", true);
    add_column(table, "", false);
    json_array_at(table, "rows");
    for (size_t i = 0; i < f->n && i < most;
         i++) { // the uid tells a value from what it is shown as
        AUTO_FREE char *uid = str_fmt("=%s", sorted[i].words);
        add_value(table, uid, *sorted[i].words ? sorted[i].words : "(empty)", sorted[i].count, f,
            sorted[0].count);
    }
    if (f->others)
        add_value(table, "", "(other values)", f->others, f,
            f->others > sorted[0].count ? f->others : sorted[0].count);
    if (f->n > most)
        json_set_int(table, "more", (int64_t)(f->n - most));
    return table;
}

// Statistics.

struct statistics {
    uint64_t entries, empty, numbers, dates, whole;
    hashset *different;
    bool many;                             // more different values than STATISTICS_VALUES
    char *first, *last, *least, *greatest; // texts in their order; and as numbers:
    double mean, squares, low, high;       // squares: sum of (x - mean)²
    double *sample;
    size_t n_sample;
    uint64_t random;
};

statistics *statistics_new(void)
{
    statistics *s = mem_alloc(sizeof *s);
    s->different = hashset_new();
    s->random = UINT64_C(88172645463325252);
    return s;
}

void statistics_free(statistics *s)
{
    if (!s)
        return;
    hashset_free(s->different);
    free(s->first);
    free(s->last);
    free(s->least);
    free(s->greatest);
    free(s->sample);
    free(s);
}

// Every number has the same chance to be in the sample (reservoir sampling).
static void add_sample(statistics *s, double x)
{
    if (!s->sample)
        s->sample = mem_array(STATISTICS_SAMPLE, sizeof *s->sample);
    if (s->n_sample < STATISTICS_SAMPLE) {
        s->sample[s->n_sample++] = x;
        return;
    }
    s->random ^= s->random << 13; // xorshift: the same sample every time
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    uint64_t at = s->random % s->numbers;
    if (at < STATISTICS_SAMPLE)
        s->sample[at] = x;
}

// Keeps the words of the least and of the greatest number: "512Mi" says more than 536870912.
static void keep(char **kept, const char *words)
{
    free(*kept);
    *kept = mem_strndup(words, SURVEY_WORDS);
}

static void add_number(statistics *s, const char *words, double x)
{
    if (!s->numbers || x < s->low) {
        s->low = x;
        keep(&s->least, words);
    }
    if (!s->numbers || x > s->high) {
        s->high = x;
        keep(&s->greatest, words);
    }
    double before = s->mean; // Welford's method
    s->numbers++;
    s->mean += (x - before) / (double)s->numbers;
    s->squares += (x - before) * (x - s->mean);
    s->whole += words[strspn(words, "-0123456789")] == '\0';
    add_sample(s, x);
}

static void add_order(statistics *s, const char *words)
{
    if (!s->first || strcmp(words, s->first) < 0)
        keep(&s->first, words);
    if (!s->last || strcmp(words, s->last) > 0)
        keep(&s->last, words);
}

void statistics_add(statistics *s, const char *words)
{
    double x;
    s->entries++;
    if (!*words) {
        s->empty++;
        return;
    }
    if (!s->many)
        hashset_add(s->different, words);
    s->many = hashset_count(s->different) > STATISTICS_VALUES;
    if (tablevalue_worth(words, &x))
        add_number(s, words, x);
    else
        add_order(s, words);
    s->dates += tablefilter_is_date(words);
}

static int by_value(const void *a_, const void *b_)
{
    double a = *(const double *)a_, b = *(const double *)b_;
    return (a > b) - (a < b);
}

static double median(const statistics *s)
{
    AUTO_FREE double *sorted = mem_array(s->n_sample, sizeof *sorted);
    memcpy(sorted, s->sample, s->n_sample * sizeof *sorted);
    qsort(sorted, s->n_sample, sizeof *sorted, by_value);
    size_t middle = s->n_sample / 2;
    return s->n_sample % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

static const char *kind_of(const statistics *s)
{
    uint64_t filled = s->entries - s->empty;
    return !filled                  ? "empty"
           : s->whole == filled     ? "integer"
           : s->numbers == filled   ? "number"
           : s->dates == filled     ? "date"
           : s->numbers || s->dates ? "mixed"
                                    : "text";
}

cJSON *statistics_table(void)
{
    static const char *const names[] = {
        "COLUMN", "KIND", "FILLED", "EMPTY", "DIFFERENT", "MIN", "MAX", "MEAN", "STDDEV", "MEDIAN"};
    cJSON *table = cJSON_CreateObject();
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        add_column(table, names[i], i > 1);
    json_array_at(table, "rows");
    return table;
}

static void add_count(cJSON *cells, uint64_t n, const char *more)
{
    AUTO_FREE char *words = str_fmt("%llu%s", (unsigned long long)n, more);
    add_text(cells, words);
}

static void add_double(cJSON *cells, double x, const char *before)
{
    AUTO_FREE char *words = str_fmt("%s%.6g", before, x);
    add_text(cells, words);
}

void statistics_row(const statistics *s, cJSON *table, const char *column, int number)
{
    cJSON *row = cJSON_CreateObject(), *cells = json_array_at(row, "cells");
    AUTO_FREE char *uid = str_fmt("%d", number);
    bool numbers = s->numbers && s->numbers == s->entries - s->empty;
    size_t different = hashset_count(s->different);
    json_set_str(row, "uid", uid);
    add_text(cells, column);
    add_text(cells, kind_of(s));
    add_count(cells, s->entries - s->empty, "");
    add_count(cells, s->empty, "");
    add_count(cells, s->many ? STATISTICS_VALUES : different, s->many ? "+" : "");
    add_text(cells, numbers ? s->least : s->first ? s->first : "");
    add_text(cells, numbers ? s->greatest : s->last ? s->last : "");
    if (numbers) {
        add_double(cells, s->mean, "");
        add_double(cells, s->numbers > 1 ? sqrt(s->squares / (double)(s->numbers - 1)) : 0, "");
        add_double(cells, median(s), s->numbers > s->n_sample ? "~" : "");
    }
    cJSON_AddItemToArray(json_array_at(table, "rows"), row);
}
