// SPDX-License-Identifier: MIT
// Matches the cells of a notebook that was read again with the earlier ones. An id is a hash of the
// cell's first content, so the new ids that reading gives do not help.
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/private.h"

#include <string.h>

enum { NONE = -1 };

struct match {
    notebook *nb;
    const notebook *old;
    long *was; // for each cell, the index of the old cell, or NONE
    bool *taken;
};

typedef bool same_fn(const cell *a, const cell *b);

static bool all_same(const cell *a, const cell *b)
{
    return str_eq(a->source, b->source) && str_eq(a->marker, b->marker);
}

static bool same_source(const cell *a, const cell *b)
{
    return *a->source && a->kind == b->kind && str_eq(a->source, b->source);
}

static bool same_marker(const cell *a, const cell *b)
{
    return str_eq(a->marker, b->marker);
}

// Is the id written in the file? In an .ipynb all are, from nbformat 4.5 on.
static bool has_own_id(const cell *c)
{
    return c->id_kept || !(c->kept->text || c->kept->unnamed);
}

static bool pair(struct match *m, size_t i, size_t old, same_fn *same)
{
    if (m->was[i] != NONE || m->taken[old] || has_own_id(m->nb->cells[i]) ||
        !same(m->nb->cells[i], m->old->cells[old]))
        return false;
    m->was[i] = (long)old;
    m->taken[old] = true;
    return true;
}

static void match_own_ids(struct match *m)
{
    for (size_t i = 0; i < m->nb->n; i++) {
        size_t old;
        if (!has_own_id(m->nb->cells[i]) || !notebook_find(m->old, m->nb->cells[i]->id, &old))
            continue;
        m->was[i] = (long)old;
        m->taken[old] = true;
    }
}

static void match_ends(struct match *m)
{
    size_t n = m->nb->n < m->old->n ? m->nb->n : m->old->n, i = 0;
    while (i < n && pair(m, i, i, all_same))
        i++;
    for (size_t k = 1; k <= n && pair(m, m->nb->n - k, m->old->n - k, all_same); k++)
        ;
}

static void match_anywhere(struct match *m, same_fn *same)
{
    for (size_t i = 0; i < m->nb->n; i++)
        for (size_t old = 0; m->was[i] == NONE && old < m->old->n; old++)
            pair(m, i, old, same);
}

// If there are as many cells as before between two matched cells, these were edited.
static void match_edited(struct match *m)
{
    for (size_t i = 0; i < m->nb->n;) {
        size_t n = 0, first = i > 0 && m->was[i - 1] != NONE ? (size_t)m->was[i - 1] + 1 : 0;
        while (i + n < m->nb->n && m->was[i + n] == NONE)
            n++;
        size_t gap = 0;
        while (first + gap < m->old->n && !m->taken[first + gap])
            gap++;
        for (size_t k = 0; k < n && n == gap && (i == 0 || m->was[i - 1] != NONE); k++)
            pair(m, i + k, first + k, same_marker);
        i += n + 1;
    }
}

// Gives an id that neither notebook has, so that nothing about an old cell is taken for this one.
static void give_new_id(struct match *m, cell *c)
{
    size_t at;
    AUTO_FREE char *seed = mem_strdup(c->id);
    for (unsigned twin = 1; notebook_find(m->old, c->id, &at); twin++) {
        char hex[SHA256_HEX];
        AUTO_FREE char *text = str_fmt("%s\n%u\n%s", seed, twin, c->source);
        sha256_hex(text, strlen(text), hex);
        hex[8] = '\0';
        free(c->id);
        c->id = mem_strdup(hex);
    }
}

void notebook_adopt_ids(notebook *nb, const notebook *old)
{
    AUTO_FREE long *was = mem_array(nb->n + 1, sizeof *was);
    AUTO_FREE bool *taken = mem_array(old->n + 1, sizeof *taken);
    struct match m = {nb, old, was, taken};
    for (size_t i = 0; i < nb->n; i++)
        was[i] = NONE;
    match_own_ids(&m);
    match_ends(&m);
    match_anywhere(&m, all_same);
    match_anywhere(&m, same_source);
    match_edited(&m);
    for (size_t i = 0; i < nb->n; i++) {
        cell *c = nb->cells[i];
        if (has_own_id(c))
            continue;
        if (was[i] == NONE) {
            give_new_id(&m, c);
            continue;
        }
        free(c->id);
        c->id = mem_strdup(old->cells[was[i]]->id);
    }
    nb->moved = true;
}
