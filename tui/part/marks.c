// SPDX-License-Identifier: MIT
#include "tui/part/marks.h"

#include "base/data/hashmap.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct marks {
    hashmap *at; // the place of a uid in `uids`
    char **uids; // NULL: not marked any more
    size_t n;
};

marks *marks_new(void)
{
    marks *m = mem_alloc(sizeof *m);
    m->at = hashmap_new();
    return m;
}

void marks_clear(marks *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->uids[i]);
    free(STEAL(m->uids));
    m->n = 0;
    hashmap_clear(m->at);
}

void marks_free(marks *m)
{
    marks_clear(m);
    hashmap_free(m->at);
    free(m);
}

bool marks_has(const marks *m, const char *uid)
{
    size_t ignored;
    return hashmap_get(m->at, uid, strlen(uid), &ignored);
}

void marks_set(marks *m, const char *uid, bool marked)
{
    size_t at, n = strlen(uid);
    bool has = hashmap_get(m->at, uid, n, &at);
    if (has == marked)
        return;
    if (marked) {
        m->uids = mem_resize(m->uids, m->n + 1, sizeof *m->uids);
        m->uids[m->n] = mem_strdup(uid);
        hashmap_set(m->at, uid, n, m->n++);
        return;
    }
    hashmap_remove(m->at, uid, n);
    free(STEAL(m->uids[at]));
    if (!hashmap_count(m->at))
        marks_clear(m);
}

size_t marks_count(const marks *m)
{
    return hashmap_count(m->at);
}

const char *marks_next(const marks *m, size_t *i)
{
    while (*i < m->n && !m->uids[*i])
        ++*i;
    return *i < m->n ? m->uids[(*i)++] : NULL;
}
