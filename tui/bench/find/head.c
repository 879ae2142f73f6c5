// SPDX-License-Identifier: MIT
// HEAD's file is read when the notebook is opened and after each save. While a cell differs, it is
// read again when somebody types some time after the last reading: it may have been committed
// elsewhere.
#include "tui/bench/find/head.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"

#include <string.h>

enum { AGAIN_MS = 10 * 1000 };

struct head {
    notebook *nb; // its cells have the ids of ours, where they are the same; NULL: there is no file
    const fold *of; // whose ids these are
    int64_t asked;  // mono ns; 0: not yet
    bool differs;   // a cell did when it was last looked at
};

static struct head *head_of(bench *b)
{
    if (!b->head)
        b->head = mem_alloc(sizeof *b->head);
    return b->head;
}

void head_free(bench *b)
{
    if (b->head)
        notebook_free(b->head->nb);
    free(STEAL(b->head));
}

void head_forget(bench *b)
{
    if (!b->head)
        return;
    b->head->asked = 0;
    b->head->of = NULL; // the cells may have other ids
}

bool head_due(const bench *b)
{
    const struct head *h = b->head;
    if (!b->ops->head || !b->path || !b->n_slots || b->replaying)
        return false;
    return !h || !h->asked || (h->differs && b->typed_at > h->asked + AGAIN_MS * CLOCK_MS);
}

void head_work(bench *b)
{
    if (!head_due(b))
        return;
    head_of(b)->asked = clock_mono();
    b->ops->head(b->arg, b->path);
}

void bench_headed(bench *b, const char *path, const char *words, size_t n)
{
    struct head *h = head_of(b);
    if (!str_eq(path, b->path))
        return;
    notebook_free(h->nb);
    h->nb = words ? notebook_parse_as(path, words, n, NULL) : NULL;
    h->of = NULL;
    h->differs = false;
    b->dirty = true;
}

enum head_state slot_head(bench *b, size_t i)
{
    struct head *h = b->head;
    struct slot *s = b->slots[i];
    size_t at;
    if (!h || !h->nb)
        return HEAD_SAME;
    if (h->of != b->fold)
        notebook_adopt_ids(h->nb, fold_notebook(b->fold));
    h->of = b->fold;
    if (!notebook_find(h->nb, s->id, &at)) {
        h->differs = true;
        return HEAD_NEW;
    }
    const cell *was = notebook_cell(h->nb, at);
    char hash[SHA256_HEX];
    cell_digest(was->source, strlen(was->source), hash);
    if (str_eq(was->marker, slot_cell(b, i)->marker) && !slot_changed(s, hash))
        return HEAD_SAME;
    h->differs = true;
    return HEAD_CHANGED;
}
