// SPDX-License-Identifier: MIT
// Which cells of two documents are the same one, and what they have shown.
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/compare.h"
#include "script/journal/text.h"

#include <string.h>

#define UNMATCHED SIZE_MAX

static bool counts(const notebook *nb, size_t i)
{
    return !cell_has_tag(notebook_cell(nb, i), "injected-parameters");
}

struct matching {
    const notebook *a, *b;
    size_t *partner; // of a's cells
    bool *taken;     // b's cells
};

static void pair(struct matching *m, size_t i, size_t k)
{
    m->partner[i] = k;
    m->taken[k] = true;
}

static void match_ids(struct matching *m)
{
    for (size_t i = 0, k; i < notebook_count(m->a); i++)
        if (counts(m->a, i) && notebook_find(m->b, notebook_cell(m->a, i)->id, &k) &&
            counts(m->b, k) && !m->taken[k])
            pair(m, i, k);
}

static void match_titles(struct matching *m)
{
    for (size_t i = 0; i < notebook_count(m->a); i++) {
        const char *title = notebook_cell(m->a, i)->title;
        bool open = counts(m->a, i) && m->partner[i] == UNMATCHED && title;
        for (size_t k = 0; open && k < notebook_count(m->b); k++) {
            if (m->taken[k] || !counts(m->b, k) || !str_eq(title, notebook_cell(m->b, k)->title))
                continue;
            pair(m, i, k);
            open = false;
        }
    }
}

// What is left between two pairs is paired in its order, as far as it is of one kind.
static void match_places(struct matching *m)
{
    size_t k = 0, n = notebook_count(m->b);
    for (size_t i = 0; i < notebook_count(m->a); i++) {
        if (m->partner[i] != UNMATCHED) {
            k = m->partner[i] + 1;
            continue;
        }
        while (k < n && !counts(m->b, k))
            k++;
        const cell *c = notebook_cell(m->a, i);
        if (counts(m->a, i) && k < n && !m->taken[k] && notebook_cell(m->b, k)->kind == c->kind &&
            !c->title == !notebook_cell(m->b, k)->title)
            pair(m, i, k++);
    }
}

size_t *compare_match(const notebook *a, const notebook *b)
{
    struct matching m = {a, b, mem_array(notebook_count(a) + 1, sizeof *m.partner),
        mem_array(notebook_count(b) + 1, sizeof *m.taken)};
    for (size_t i = 0; i < notebook_count(a); i++)
        m.partner[i] = UNMATCHED;
    match_ids(&m);
    match_titles(&m);
    match_places(&m);
    free(m.taken);
    return m.partner;
}

void compare_output(const struct compared *run, const struct run_cell *c, buf *out)
{
    for (size_t i = 0; c && i < c->n_outputs; i++)
        output_text(&c->outputs[i], run->spool_dir, 0, out, NULL);
}
