// SPDX-License-Identifier: MIT
#include "k8s/client/merge.h"

#include "base/mem.h"

#include <string.h>

struct held {
    int64_t stamp, since; // since: when the line came here
    size_t n;
    struct held *next;
    char text[];
};

struct source {
    struct held *first, **end;
    size_t bytes;
    bool ended, dropped;
};

struct merge {
    int64_t window;
    void (*out)(void *arg, const struct merge_line *line);
    void *arg;
    struct source **sources; // allocated one by one: `end` may point into one
    int count;
};

merge *merge_new(int64_t window, void (*out)(void *arg, const struct merge_line *line), void *arg)
{
    merge *m = mem_alloc(sizeof *m);
    *m = (merge){.window = window, .out = out, .arg = arg};
    return m;
}

void merge_free(merge *m)
{
    if (!m)
        return;
    for (int i = 0; i < m->count; i++) {
        struct held *h;
        while ((h = m->sources[i]->first)) {
            m->sources[i]->first = h->next;
            free(h);
        }
        free(m->sources[i]);
    }
    free(m->sources);
    free(m);
}

int merge_add(merge *m)
{
    for (int i = 0; i < m->count; i++) {
        if (m->sources[i]->dropped) {
            m->sources[i]->dropped = m->sources[i]->ended = false;
            return i;
        }
    }
    struct source *s = mem_alloc(sizeof *s);
    s->end = &s->first;
    m->sources = mem_resize(m->sources, (size_t)m->count + 1, sizeof(struct source *));
    m->sources[m->count] = s;
    return m->count++;
}

static void let_out(merge *m, int i)
{
    struct source *s = m->sources[i];
    struct held *h = s->first;
    s->first = h->next;
    if (!s->first)
        s->end = &s->first;
    s->bytes -= h->n;
    m->out(m->arg, &(struct merge_line){i, h->stamp, h->text, h->n});
    free(h);
}

int64_t merge_tick(merge *m, int64_t now)
{
    for (;;) {
        int oldest = -1;
        bool all_speak = true;
        int64_t longest = now; // when the line that has waited longest arrived
        for (int i = 0; i < m->count; i++) {
            const struct source *s = m->sources[i];
            if (!s->first) {
                all_speak = all_speak && s->ended;
                continue;
            }
            if (oldest < 0 || s->first->stamp < m->sources[oldest]->first->stamp)
                oldest = i;
            if (s->first->since < longest)
                longest = s->first->since;
        }
        if (oldest < 0)
            return 0;
        bool waited = m->window && now - longest >= m->window;
        if (!all_speak && !waited)
            return m->window ? longest + m->window : 0;
        let_out(m, oldest);
    }
}

void merge_put(merge *m, int source, int64_t stamp, const char *text, size_t n, int64_t now)
{
    struct source *s = m->sources[source];
    struct held *h = mem_alloc(sizeof *h + n + 1);
    h->stamp = stamp;
    h->since = now;
    h->n = n;
    memcpy(h->text, text, n);
    *s->end = h;
    s->end = &h->next;
    s->bytes += n;
}

void merge_end(merge *m, int source)
{
    m->sources[source]->ended = true;
}

void merge_drop(merge *m, int source)
{
    m->sources[source]->ended = m->sources[source]->dropped = true;
}

bool merge_is_empty(const merge *m, int source)
{
    return !m->sources[source]->first;
}

size_t merge_held(const merge *m, int source)
{
    return m->sources[source]->bytes;
}
