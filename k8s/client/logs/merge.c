// SPDX-License-Identifier: MIT
#include "k8s/client/logs/merge.h"

#include "base/buf.h"
#include "base/mem.h"

#include <string.h>

// Of a source whose lines come one after the other in its bytes, with nothing of their own:
//
//   held   … told … │ held{n} text │ held{n} text │     no memory is asked for by line
//                   ^ at: the head
struct held {
    int64_t stamp, since; // since: when the line came here
    size_t n;
    int kind;
};

struct source {
    buf held;
    size_t at, bytes;
    struct held head; // valid while bytes are held
    bool ended, dropped;
};

struct merge {
    int64_t window;
    void (*out)(void *arg, const struct merge_line *line);
    void *arg;
    struct source *sources;
    int count;
};

enum { KEPT = 64 << 10 }; // memory that a source keeps when it holds nothing

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
    for (int i = 0; i < m->count; i++)
        buf_done(&m->sources[i].held);
    free(m->sources);
    free(m);
}

int merge_add(merge *m)
{
    for (int i = 0; i < m->count; i++) {
        if (m->sources[i].dropped) {
            m->sources[i].dropped = m->sources[i].ended = false;
            return i;
        }
    }
    m->sources = mem_resize(m->sources, (size_t)m->count + 1, sizeof *m->sources);
    m->sources[m->count] = (struct source){0};
    return m->count++;
}

static bool is_empty(const struct source *s)
{
    return s->at == s->held.len;
}

static void read_head(struct source *s)
{
    if (!is_empty(s))
        memcpy(&s->head, s->held.data + s->at, sizeof s->head);
}

// Gives back what the lines that are out have taken.
static void tidy(struct source *s)
{
    if (is_empty(s)) {
        s->at = 0;
        if (s->held.cap > KEPT)
            buf_done(&s->held);
        else
            buf_clear(&s->held);
    } else if (s->at > KEPT && s->at > s->held.len / 2) {
        buf_consume(&s->held, s->at);
        s->at = 0;
    }
}

static void release_line(merge *m, int i)
{
    struct source *s = &m->sources[i];
    const struct held h = s->head;
    const char *text = s->held.data + s->at + sizeof h;
    s->at += sizeof h + h.n;
    s->bytes -= sizeof h + h.n;
    read_head(s);
    m->out(m->arg, &(struct merge_line){i, h.kind, h.stamp, text, h.n});
}

struct look {
    int oldest, next; // the sources with the oldest heads; -1: none
    bool all_speak;
    int64_t longest; // when the line that has waited longest arrived
};

static bool is_before(const merge *m, int a, int b)
{
    return b < 0 || m->sources[a].head.stamp < m->sources[b].head.stamp;
}

static struct look look_at_heads(const merge *m, int64_t now)
{
    struct look l = {.oldest = -1, .next = -1, .all_speak = true, .longest = now};
    for (int i = 0; i < m->count; i++) {
        const struct source *s = &m->sources[i];
        if (is_empty(s)) {
            l.all_speak = l.all_speak && s->ended;
            continue;
        }
        if (is_before(m, i, l.oldest)) {
            l.next = l.oldest;
            l.oldest = i;
        } else if (is_before(m, i, l.next)) {
            l.next = i;
        }
        if (s->head.since < l.longest)
            l.longest = s->head.since;
    }
    return l;
}

// While all speak, the oldest source goes on until another one is older.
static void let_out_run(merge *m, const struct look *l)
{
    struct source *s = &m->sources[l->oldest];
    do
        release_line(m, l->oldest);
    while (l->all_speak && !is_empty(s) && is_before(m, l->oldest, l->next));
    tidy(s);
}

int64_t merge_tick(merge *m, int64_t now)
{
    for (;;) {
        struct look l = look_at_heads(m, now);
        if (l.oldest < 0)
            return 0;
        bool waited = m->window && now - l.longest >= m->window;
        if (!l.all_speak && !waited)
            return m->window ? l.longest + m->window : 0;
        let_out_run(m, &l);
    }
}

void merge_put(merge *m, int source, const struct merge_line *line, int64_t now)
{
    struct source *s = &m->sources[source];
    struct held h = {.stamp = line->stamp, .since = now, .n = line->n, .kind = line->kind};
    bool first = is_empty(s);
    buf_add(&s->held, &h, sizeof h);
    buf_add(&s->held, line->text, line->n);
    s->bytes += sizeof h + line->n;
    if (first)
        read_head(s);
}

void merge_end(merge *m, int source)
{
    m->sources[source].ended = true;
}

void merge_drop(merge *m, int source)
{
    m->sources[source].ended = m->sources[source].dropped = true;
}

bool merge_is_empty(const merge *m, int source)
{
    return is_empty(&m->sources[source]);
}

size_t merge_held(const merge *m, int source)
{
    return m->sources[source].bytes;
}
