// SPDX-License-Identifier: MIT
#include "tui/part/table/roworder.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "tui/part/table/tablevalue.h"

#include <string.h>

enum { RUN = 512, AT_ONCE = 4096 }; // RUN: rows that are sorted at once, before merging begins

struct key {
    double worth; // of a number
    size_t words; // of a text, where it stands in the texts
    uint32_t row;
    uint32_t came;
    bool number;
};
struct roworder {
    struct key *keys, *other; // merged from one into the other
    buf texts;
    size_t n, rows;
    bool reverse, done;
    size_t width;       // of the runs that are merged; 0: they are being made
    size_t at;          // rows of this pass that are done
    size_t left, right; // of the two runs at hand, the next ones
    bool inside;        // the two at hand have begun
    int passes, all;    // for the share that is done
    uint32_t *sorted;
};

roworder *roworder_new(size_t rows, bool reverse)
{
    roworder *o = mem_alloc(sizeof *o);
    *o = (roworder){.rows = rows, .reverse = reverse, .all = 1};
    o->keys = mem_array(rows + 1, sizeof *o->keys);
    o->other = mem_array(rows + 1, sizeof *o->other);
    for (size_t width = RUN; width < rows; width *= 2)
        o->all++;
    return o;
}

void roworder_free(roworder *o)
{
    if (!o)
        return;
    free(o->keys);
    free(o->other);
    buf_done(&o->texts);
    free(o->sorted);
    free(o);
}

void roworder_add(roworder *o, uint32_t row, const char *words)
{
    struct key *k = &o->keys[o->n];
    *k = (struct key){.row = row, .came = (uint32_t)o->n++};
    k->number = tablevalue_worth(words, &k->worth);
    if (k->number)
        return;
    k->words = o->texts.len;
    buf_add(&o->texts, words, strlen(words) + 1);
}

static int compare(const roworder *o, const struct key *a, const struct key *b)
{
    int by = 0;
    if (a->number && b->number) {
        by = (a->worth > b->worth) - (a->worth < b->worth);
    } else if (a->number != b->number) {
        by = a->number ? -1 : 1;
    } else {
        const char *x = o->texts.data + a->words, *y = o->texts.data + b->words;
        by = *x && *y ? strverscmp(x, y) : !*x - !*y;
    }
    if (by)
        return o->reverse ? -by : by;
    return (a->came > b->came) - (a->came < b->came);
}

static int compare_keys(const void *a, const void *b, void *o)
{
    return compare(o, a, b);
}

// The next stretch of rows becomes a run.
static void make_run(roworder *o)
{
    size_t n = o->n - o->at < RUN ? o->n - o->at : RUN;
    qsort_r(o->keys + o->at, n, sizeof *o->keys, compare_keys, o);
    o->at += n;
}

static size_t less(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Moves some rows of the two runs at hand. `at` is the next place to fill.
static void merge_some(roworder *o)
{
    size_t from = o->at / (2 * o->width) * (2 * o->width);
    size_t middle = less(from + o->width, o->n), end = less(from + 2 * o->width, o->n);
    if (!o->inside) {
        o->left = from;
        o->right = middle;
        o->inside = true;
    }
    for (int i = 0; i < AT_ONCE && o->at < end; i++) {
        bool first = o->right == end ||
                     (o->left < middle && compare(o, &o->keys[o->left], &o->keys[o->right]) <= 0);
        o->other[o->at++] = o->keys[first ? o->left++ : o->right++];
    }
    o->inside = o->at < end;
}

static void finish(roworder *o)
{
    o->sorted = mem_array(o->n + 1, sizeof *o->sorted);
    for (size_t i = 0; i < o->n; i++)
        o->sorted[i] = o->keys[i].row;
    free(STEAL(o->keys));
    free(STEAL(o->other));
    buf_done(&o->texts);
    o->done = true;
}

// A pass is over: runs are twice as long now.
static void next_pass(roworder *o)
{
    struct key *merged = o->other;
    if (o->width) {
        o->other = o->keys;
        o->keys = merged;
    }
    o->width = o->width ? 2 * o->width : RUN;
    o->at = 0;
    o->passes++;
    if (o->width >= o->n)
        finish(o);
}

bool roworder_work(roworder *o, int64_t until)
{
    while (!o->done) {
        if (clock_mono() >= until)
            return true;
        if (o->at >= o->n)
            next_pass(o);
        else if (o->width)
            merge_some(o);
        else
            make_run(o);
    }
    return false;
}

bool roworder_done(const roworder *o)
{
    return o->done;
}

int roworder_percent(const roworder *o)
{
    double pass = o->n ? (double)o->at / (double)o->n : 1;
    return o->done ? 100 : (int)(((double)o->passes + pass) / (double)o->all * 100);
}

uint32_t roworder_at(const roworder *o, size_t i)
{
    return o->sorted[i];
}
