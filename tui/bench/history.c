// SPDX-License-Identifier: MIT
#include "tui/bench/history.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"
#include "tui/bench/loss.h"

#include <string.h>
#include <unistd.h>

enum { STEPS_KEPT = 200 };

// The cell before and after the change. Ids stay valid after their cells have gone.
enum op_kind { OP_INSERT, OP_DELETE, OP_MOVE, OP_EDIT };
struct place {
    char *after, *marker, *source;
    size_t at; // if the cell before it is gone
};
struct op {
    enum op_kind kind;
    char *id;
    struct place was, is; // INSERT has no `was`, DELETE has no `is`
};
struct step {
    char *what, *about;
    struct op *ops;
    size_t n;
};
struct history {
    struct step *steps;
    size_t n, done; // steps[done…n) are undone
    bool open;
    const struct step *refused; // the step just refused: if it is asked for again, it is forgotten
    unsigned ids;
};

struct history *history_new(void)
{
    return mem_alloc(sizeof(struct history));
}

static void place_done(struct place *p)
{
    free(p->after);
    free(p->marker);
    free(p->source);
}

static void step_done(struct step *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->ops[i].id);
        place_done(&s->ops[i].was);
        place_done(&s->ops[i].is);
    }
    free(s->ops);
    free(s->what);
    free(s->about);
}

static void drop(struct history *h, size_t at)
{
    step_done(&h->steps[at]);
    h->n--;
    memmove(h->steps + at, h->steps + at + 1, (h->n - at) * sizeof *h->steps);
    h->done -= h->done > at;
}

void history_free(struct history *h)
{
    if (!h)
        return;
    while (h->n)
        drop(h, h->n - 1);
    free(h->steps);
    free(h);
}

void history_begin(bench *b, const char *what, const char *about)
{
    struct history *h = b->history;
    remote_flush(b);
    while (h->n > h->done)
        drop(h, h->n - 1);
    if (h->n == STEPS_KEPT)
        drop(h, 0);
    h->steps = mem_resize(h->steps, h->n + 1, sizeof *h->steps);
    h->steps[h->n++] = (struct step){.what = mem_strdup(what), .about = mem_strdup(about)};
    h->done = h->n;
    h->refused = NULL;
}

void history_end(bench *b)
{
    struct history *h = b->history;
    if (h->n && h->steps[h->n - 1].n == 0)
        drop(h, h->n - 1);
}

static struct op *note(bench *b, enum op_kind kind, const char *id)
{
    struct history *h = b->history;
    struct step *s = &h->steps[h->n - 1];
    s->ops = mem_resize(s->ops, s->n + 1, sizeof *s->ops);
    s->ops[s->n] = (struct op){.kind = kind, .id = mem_strdup(id)};
    return &s->ops[s->n++];
}

// The place and the content of a cell.
static struct place place_of(bench *b, size_t i)
{
    AUTO_BUF source = {0};
    text_all(edit_text(b->slots[i]->edit), &source);
    return (struct place){.after = mem_strdup(i > 0 ? b->slots[i - 1]->id : NULL),
        .marker = mem_strdup(slot_cell(b, i)->marker),
        .source = mem_strdup(buf_cstr(&source)),
        .at = i};
}

static struct place place_new(const char *after, const char *marker, const char *source)
{
    return (struct place){
        .after = mem_strdup(after), .marker = mem_strdup(marker), .source = mem_strdup(source)};
}

// An id that no client's cell has.
static void fresh_id(bench *b, char out[9])
{
    char hex[SHA256_HEX];
    AUTO_BUF seed = {0};
    buf_fmt(&seed, "%lld %lld %u", (long long)clock_mono(), (long long)getpid(), b->history->ids++);
    sha256_hex(seed.data, seed.len, hex);
    memcpy(out, hex, 8);
    out[8] = '\0';
}

const char *history_insert(bench *b, const char *after, const char *marker, const char *source)
{
    char id[9];
    fresh_id(b, id);
    struct op *op = note(b, OP_INSERT, id);
    op->is = place_new(after, marker, source);
    op->is.at = slot_by_id(b, after, &op->is.at) ? op->is.at + 1 : 0;
    remote_insert(b, op->id, after, marker, source);
    return op->id;
}

void history_delete(bench *b, size_t i)
{
    struct op *op = note(b, OP_DELETE, b->slots[i]->id);
    op->was = place_of(b, i);
    remote_delete(b, i);
}

void history_move(bench *b, size_t i, const char *after)
{
    struct op *op = note(b, OP_MOVE, b->slots[i]->id);
    op->was = place_of(b, i);
    op->is = place_new(after, NULL, NULL);
    remote_move(b, op->id, after);
}

// Changes the text in the cell's own editor, so that the cell's own undo includes it.
static void write_cell(bench *b, size_t i, const char *marker, const char *source)
{
    struct slot *s = b->slots[i];
    AUTO_BUF now = {0};
    text_all(edit_text(s->edit), &now);
    if (!str_eq(buf_cstr(&now), source)) {
        edit_select(s->edit, (pos){0}, text_end(edit_text(s->edit)));
        edit_insert(s->edit, source, strlen(source));
    }
    remote_edit(b, i, marker);
}

void history_edit(bench *b, size_t i, const char *marker, const char *source)
{
    struct op *op = note(b, OP_EDIT, b->slots[i]->id);
    op->was = place_of(b, i);
    op->is = place_new(NULL, marker, source);
    write_cell(b, i, marker, source);
}

// The cell as a kernel has it that has read it again from its text, as after a restart: marker and
// source may be written in another way then. New; NULL: its text is no single cell.
static char *as_read(const struct place *p)
{
    AUTO_BUF once = {0}, again = {0};
    notebook *made = notebook_new();
    notebook_insert(made, 0, p->marker, p->source);
    notebook_print(made, &once);
    notebook *read = notebook_parse(buf_cstr(&once), once.len, NULL);
    if (read && notebook_count(read) == 1)
        buf_fmt(&again, "%s\n%s", notebook_cell(read, 0)->marker, notebook_cell(read, 0)->source);
    bool single = read && notebook_count(read) == 1;
    notebook_free(made);
    notebook_free(read);
    return single ? buf_take(&again) : NULL;
}

static bool same_content(const struct place *now, const struct place *then)
{
    if (str_eq(now->source, then->source) && str_eq(now->marker, then->marker))
        return true;
    AUTO_FREE char *a = as_read(now), *b = as_read(then);
    return a && b && str_eq(a, b);
}

// Is the cell still as the change left it?
static bool fits(bench *b, const struct op *op, bool back, const char **why)
{
    size_t i;
    bool there = slot_by_id(b, op->id, &i) != NULL;
    bool makes = back ? op->kind == OP_DELETE : op->kind == OP_INSERT;
    *why = there ? "it is there" : "its cell is gone";
    if (makes || !there)
        return makes && !there;
    const struct place *to = back ? &op->was : &op->is, *then = back ? &op->is : &op->was;
    *why = "the cell it stood after is gone";
    if (op->kind == OP_MOVE)
        return !to->after || slot_by_id(b, to->after, NULL);
    if (op->kind != OP_EDIT)
        return true;
    struct place now = place_of(b, i);
    bool same = same_content(&now, then);
    place_done(&now);
    *why = "its cell has been edited since";
    return same;
}

static void remove_cell(bench *b, struct op *op, struct place *kept)
{
    size_t i;
    if (!slot_by_id(b, op->id, &i))
        return;
    struct place now = place_of(b, i); // with later typing, so that redo brings that back, too
    free(now.after);
    now.after = STEAL(kept->after);
    now.at = kept->at;
    place_done(kept);
    *kept = now;
    remote_delete(b, i);
}

static void apply(bench *b, struct op *op, bool back)
{
    struct place *to = back ? &op->was : &op->is, *from = back ? &op->is : &op->was;
    size_t i;
    if (op->kind == OP_MOVE)
        remote_move(b, op->id, to->after);
    else if (op->kind == OP_EDIT && slot_by_id(b, op->id, &i))
        write_cell(b, i, to->marker, to->source);
    else if (op->kind == (back ? OP_DELETE : OP_INSERT))
        remote_insert(b, op->id, to->after, to->marker, to->source);
    else
        remove_cell(b, op, from);
}

// A cell that the step itself restores may be the one after which others stand.
static bool made_by(const struct step *s, const char *id)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->ops[i].id, id) &&
            (s->ops[i].kind == OP_DELETE || s->ops[i].kind == OP_INSERT))
            return true;
    return false;
}

// If the cell before a place is gone, its own predecessor takes its part.
static void find_places(bench *b, struct step *s, bool back)
{
    for (size_t i = 0; i < s->n; i++) {
        struct place *to = back ? &s->ops[i].was : &s->ops[i].is;
        if (!to->after || slot_by_id(b, to->after, NULL) || made_by(s, to->after))
            continue;
        size_t at = to->at < b->n_slots ? to->at : b->n_slots;
        free(to->after);
        to->after = mem_strdup(at > 0 ? b->slots[at - 1]->id : NULL);
    }
}

static bool step_fits(bench *b, const struct step *s, bool back)
{
    struct history *h = b->history;
    const char *why;
    for (size_t i = 0; i < s->n; i++) {
        if (fits(b, &s->ops[i], back, &why))
            continue;
        bool again = h->refused == s;
        h->refused = again ? NULL : s;
        bench_complain(b, "%s %s: %s%s", back ? "cannot undo" : "cannot redo", s->what, why,
            again  ? "; forgotten"
            : back ? "; z again forgets it"
                   : "; Z again forgets it");
        if (again)
            drop(h, (size_t)(s - h->steps));
        return false;
    }
    return true;
}

// The cells that the step deletes.
static cJSON *deleted_by(const struct step *s, bool back)
{
    cJSON *ids = cJSON_CreateArray();
    for (size_t i = 0; i < s->n; i++)
        if (s->ops[i].kind == (back ? OP_INSERT : OP_DELETE))
            cJSON_AddItemToArray(ids, cJSON_CreateString(s->ops[i].id));
    return ids;
}

static void take_step(bench *b, bool back)
{
    struct history *h = b->history;
    if (!remote_ready(b, true))
        return;
    if (back ? h->done == 0 : h->done == h->n) {
        bench_say(b, "no change of cells to %s", back ? "undo" : "redo");
        return;
    }
    struct step *s = &h->steps[back ? h->done - 1 : h->done];
    if (!step_fits(b, s, back) ||
        !loss_agreed(b, back ? ACT_UNDO_CELL : ACT_REDO_CELL, deleted_by(s, back)))
        return;
    remote_flush(b);
    find_places(b, s, back);
    for (size_t i = 0; i < s->n; i++)
        apply(b, &s->ops[back ? s->n - 1 - i : i], back);
    h->done = back ? h->done - 1 : h->done + 1;
    h->refused = NULL;
    bench_select(b, s->about ? s->about : s->ops[0].id);
    bench_say(b, "%s: %s", back ? "undone" : "done again", s->what);
}

void history_undo(bench *b)
{
    take_step(b, true);
}

void history_redo(bench *b)
{
    take_step(b, false);
}
