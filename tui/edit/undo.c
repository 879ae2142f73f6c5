// SPDX-License-Identifier: MIT
#include "tui/edit/undo.h"

#include "base/mem.h"

#include <string.h>

struct change {
    pos before, at;
    buf removed, inserted;
    unsigned group;
};

struct undo {
    struct change *changes;
    size_t n, cap, done; // changes[done…n) are undone
    unsigned group, depth;
    bool broken; // the next change does not join the last
};

undo *undo_new(void)
{
    undo *u = mem_alloc(sizeof *u);
    u->broken = true;
    return u;
}

static void drop(undo *u, size_t from)
{
    for (size_t i = from; i < u->n; i++) {
        buf_done(&u->changes[i].removed);
        buf_done(&u->changes[i].inserted);
    }
    u->n = from;
    if (u->done > from)
        u->done = from;
}

void undo_forget(undo *u)
{
    drop(u, 0);
    u->broken = true;
}

void undo_free(undo *u)
{
    if (!u)
        return;
    drop(u, 0);
    free(u->changes);
    free(u);
}

// The end of a text that starts at `at`.
static pos end_of(pos at, const buf *bytes)
{
    for (size_t i = 0; i < bytes->len; i++)
        at = bytes->data[i] == '\n' ? (pos){at.line + 1, 0} : (pos){at.line, at.byte + 1};
    return at;
}

// Does typing continue where the last change ended? Then it joins that step, up to the end of the
// word: text after a blank is a new step.
static bool joins(const undo *u, pos at, const char *s, size_t n)
{
    if (u->broken || u->depth || !u->done)
        return false;
    const struct change *last = &u->changes[u->done - 1];
    if (!last->inserted.len || n > 4 || *s == '\n')
        return false;
    char before = last->inserted.data[last->inserted.len - 1];
    return pos_compare(end_of(last->at, &last->inserted), at) == 0 && before != '\n' &&
           !(before == ' ' && *s != ' ');
}

// The same for deleting, backwards (to the left of the last one) and forwards (in the same place).
static bool joins_deletion(const undo *u, pos at, const char *s, size_t n)
{
    if (u->broken || u->depth || !u->done || n > 4 || *s == '\n')
        return false;
    const struct change *last = &u->changes[u->done - 1];
    if (last->inserted.len || !last->removed.len ||
        memchr(last->removed.data, '\n', last->removed.len))
        return false;
    return pos_compare(last->at, at) == 0 ||
           (at.line == last->at.line && at.byte + n == last->at.byte);
}

static void extend_deletion(struct change *last, pos at, const char *s, size_t n)
{
    if (pos_compare(last->at, at) == 0) {
        buf_add(&last->removed, s, n);
        return;
    }
    AUTO_BUF joined = {0};
    buf_add(&joined, s, n);
    buf_add(&joined, last->removed.data, last->removed.len);
    buf_clear(&last->removed);
    buf_add(&last->removed, joined.data, joined.len);
    last->at = at;
}

static struct change *append(undo *u)
{
    if (u->n == u->cap) {
        u->cap = u->cap ? 2 * u->cap : 16;
        u->changes = mem_resize(u->changes, u->cap, sizeof *u->changes);
    }
    if (!u->depth)
        u->group++;
    u->done = u->n + 1;
    u->changes[u->n] = (struct change){.group = u->group};
    return &u->changes[u->n++];
}

void undo_record(undo *u, pos before, pos at, const char *removed, size_t removed_n,
    const char *inserted, size_t inserted_n)
{
    if (!removed_n && !inserted_n)
        return;
    drop(u, u->done);
    if (!removed_n && joins(u, at, inserted, inserted_n)) {
        buf_add(&u->changes[u->done - 1].inserted, inserted, inserted_n);
    } else if (!inserted_n && joins_deletion(u, at, removed, removed_n)) {
        extend_deletion(&u->changes[u->done - 1], at, removed, removed_n);
    } else {
        struct change *c = append(u);
        c->before = before;
        c->at = at;
        buf_add(&c->removed, removed, removed_n);
        buf_add(&c->inserted, inserted, inserted_n);
    }
    u->broken = false;
}

void undo_break(undo *u)
{
    u->broken = true;
}

void undo_group_begin(undo *u)
{
    if (u->depth++ == 0)
        u->group++;
}

void undo_group_end(undo *u)
{
    u->depth--;
    u->broken = true;
}

static void replace(text *t, pos at, const buf *old, const buf *fresh)
{
    text_delete(t, at, end_of(at, old));
    text_insert(t, at, fresh->data, fresh->len);
}

bool undo_undo(undo *u, text *t, pos *cursor)
{
    u->broken = true;
    if (!u->done)
        return false;
    unsigned group = u->changes[u->done - 1].group;
    while (u->done && u->changes[u->done - 1].group == group) {
        const struct change *c = &u->changes[--u->done];
        replace(t, c->at, &c->inserted, &c->removed);
        *cursor = c->before;
    }
    return true;
}

bool undo_redo(undo *u, text *t, pos *cursor)
{
    u->broken = true;
    if (u->done == u->n)
        return false;
    unsigned group = u->changes[u->done].group;
    while (u->done < u->n && u->changes[u->done].group == group) {
        const struct change *c = &u->changes[u->done++];
        replace(t, c->at, &c->removed, &c->inserted);
        *cursor = end_of(c->at, &c->inserted);
    }
    return true;
}
