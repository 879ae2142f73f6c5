// SPDX-License-Identifier: MIT
// The cells as they are shown and edited here. The fold has the kernel's document. Typed text is
// first in the slot, and in the fold after the kernel's event.
#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"

#include <string.h>

static void slot_free(struct slot *s)
{
    if (!s)
        return;
    edit_free(s->edit);
    drawing_done(&s->drawing);
    cJSON_Delete(s->problems);
    free(s->id);
    free(s->marker);
    cJSON_Delete(s->works);
    free(s);
}

void slots_free(bench *b)
{
    for (size_t i = 0; i < b->n_slots; i++)
        slot_free(b->slots[i]);
    free(b->slots);
    hashmap_free(b->slot_at);
    b->slots = NULL;
    b->n_slots = 0;
    b->slot_at = NULL;
}

struct slot *slot_by_id(const bench *b, const char *id, size_t *at)
{
    size_t i;
    if (!id || !b->slot_at || !hashmap_get(b->slot_at, id, strlen(id), &i))
        return NULL;
    if (at)
        *at = i;
    return b->slots[i];
}

size_t slot_count(const bench *b)
{
    return b->n_slots;
}

struct slot *slot_at(const bench *b, size_t i)
{
    return b->slots[i];
}

const char *slot_id(const struct slot *s)
{
    return s->id;
}

edit *slot_edit(const struct slot *s)
{
    return s->edit;
}

syntax_language slot_language(const struct slot *s)
{
    return s->language;
}

unsigned slot_version(const struct slot *s)
{
    return s->version;
}

struct drawing *slot_drawing(struct slot *s)
{
    return &s->drawing;
}

void slot_forget_outputs(bench *b, size_t from, size_t to)
{
    for (size_t i = 0; i < b->n_slots; i++)
        if ((i < from || i >= to) && b->slots[i]->drawing.output)
            grid_free(STEAL(b->slots[i]->drawing.output));
}

void slot_typed(bench *b)
{
    b->edited_at = clock_mono();
    b->typed++;
    b->dirty = true;
}

void slot_set_edited(bench *b, struct slot *s)
{
    b->edited = s;
}

bool slot_is_edited(const bench *b, const struct slot *s)
{
    return s && b->edited == s;
}

void bench_select(bench *b, const char *id)
{
    char *copy = mem_strdup(id);
    free(b->select);
    b->select = copy;
    b->select_asks = b->select_edit = false;
    b->dirty = true;
}

void bench_go(bench *b, const char *id)
{
    bench_select(b, id);
}

void bench_select_to_edit(bench *b, const char *id)
{
    bench_select(b, id);
    b->select_edit = true;
}

void bench_select_none(bench *b)
{
    bench_select(b, NULL);
}

void bench_select_asking(bench *b, const char *id)
{
    bench_select(b, id);
    b->select_asks = true;
}

bool bench_selects_asking(const bench *b)
{
    return b->select && b->select_asks;
}

bool bench_selects_to_edit(const bench *b)
{
    return b->select && b->select_edit;
}

bool bench_selects(const bench *b)
{
    return b->select != NULL;
}

bool bench_rescues(const bench *b)
{
    return b->rescued != NULL;
}

bool bench_take_selected(bench *b, size_t *i, const pos **cursor)
{
    if (!b->select || !slot_by_id(b, b->select, i))
        return false;
    free(STEAL(b->select));
    b->untouched = b->select_edit;
    *cursor = b->rescued ? &b->rescue_cursor : NULL;
    free(STEAL(b->rescued));
    return true;
}

const cell *slot_cell(const bench *b, size_t i)
{
    return notebook_cell(fold_notebook(b->fold), i);
}

void slot_name(const bench *b, size_t i, buf *out)
{
    const char *title = slot_cell(b, i)->title;
    if (title)
        buf_str(out, title);
    else
        notebook_cell_name(fold_notebook(b->fold), i, out);
}

const struct run_cell *slot_run(const bench *b, size_t i)
{
    return fold_cell_by_id(b->fold, b->slots[i]->id, NULL);
}

char slot_letter(const bench *b, size_t i)
{
    return b->slots[i]->letter;
}

void slot_set_letter(bench *b, size_t i, char letter)
{
    for (size_t k = 0; k < b->n_slots; k++)
        if (b->slots[k]->letter == letter)
            b->slots[k]->letter = 0;
    b->slots[i]->letter = letter;
    b->dirty = true;
}

bool slot_unsent(const struct slot *s)
{
    return text_revision(edit_text(s->edit)) != s->sent;
}

// %%bash and the like decide on the language; otherwise the marker's options do.
static syntax_language language_of(const notebook *nb, const cell *c)
{
    if (c->kind == CELL_MARKDOWN)
        return SYNTAX_MARKDOWN;
    if (c->kind == CELL_RAW)
        return SYNTAX_PLAIN;
    if (c->options.language)
        return syntax_by_name(c->options.language);
    const char *file = c->options.file ? c->options.file : c->options.template_;
    if (file)
        return syntax_by_file(file);
    if (strncmp(c->source, "%%bash", 6) == 0 || strncmp(c->source, "%%sh", 4) == 0)
        return SYNTAX_BASH;
    const char *own = notebook_language(nb);
    return own ? syntax_by_name(own) : SYNTAX_LUA;
}

static struct slot *slot_new(const cell *c)
{
    struct slot *s = mem_alloc(sizeof *s);
    s->id = mem_strdup(c->id);
    s->edit = edit_new(c->source, strlen(c->source));
    s->sent = text_revision(edit_text(s->edit));
    drawing_init(&s->drawing);
    s->version = 1;
    return s;
}

static void take_text(struct slot *s, const char *words)
{
    size_t n = strlen(words);
    pos at = edit_cursor(s->edit);
    if (!s->contested) {
        edit_reset(s->edit, words, n);
        return;
    }
    edit_select(s->edit, (pos){0}, text_end(edit_text(s->edit)));
    edit_insert(s->edit, words, n);
    edit_set_cursor(s->edit, at);
}

// The kernel's text wins, unless something typed here is not sent yet or not answered.
static void follow_cell(bench *b, struct slot *s, const cell *c)
{
    s->language = language_of(fold_notebook(b->fold), c);
    if (!str_eq(s->marker, c->marker)) {
        free(s->marker);
        s->marker = mem_strdup(c->marker);
    }
    const struct syntax_writing *w = syntax_writing(s->language);
    edit_set_language(s->edit, &(struct edit_language){w->comment, w->opens, w->closes, w->indent});
    if (slot_unsent(s) || s->asked || b->seen < s->made)
        return;
    AUTO_BUF now = {0};
    text_all(edit_text(s->edit), &now);
    if (!str_eq(buf_cstr(&now), c->source))
        take_text(s, c->source);
    s->sent = text_revision(edit_text(s->edit));
    s->base = b->seen;
}

// If a person is in a cell that the reloaded file no longer has, and everything typed is sent, the
// cursor goes to the cell with the same title, or else to the cell in the same place.
static bool follow_place(
    bench *b, const struct slot *s, struct slot *const *slots, size_t n, size_t i)
{
    if (!b->reloading || slot_unsent(s) || n == 0)
        return false;
    size_t to = i < n ? i : n - 1;
    for (size_t k = 0; k < n; k++)
        if (s->marker && *s->marker && str_eq(slots[k]->marker, s->marker))
            to = k;
    free(b->select);
    b->select = mem_strdup(slots[to]->id);
    return true;
}

static void keep_text(bench *b, const struct slot *s, size_t i)
{
    AUTO_BUF words = {0};
    text_all(edit_text(s->edit), &words);
    free(b->rescue);
    b->rescue = mem_strdup(buf_cstr(&words));
    free(b->rescue_marker);
    b->rescue_marker = mem_strdup(s->marker);
    b->rescue_at = i;
    if (s == b->edited) // the cursor of a new cell is not there yet
        b->rescue_cursor = edit_cursor(s->edit);
    b->rescue_due = true;
}

// Keeps the text that was typed in a cell which another client deletes, for a new cell
// (structure.c). That one may be deleted, too, before it could be selected.
static void keep_typed(bench *b, struct slot *const *slots, size_t n)
{
    for (size_t i = 0; i < b->n_slots; i++) {
        const struct slot *s = b->slots[i];
        bool ours = s && (s == b->edited || (b->rescued && str_eq(s->id, b->rescued)));
        if (!ours)
            continue;
        if (follow_place(b, s, slots, n, i))
            free(STEAL(b->rescued));
        else
            keep_text(b, s, i);
        b->edited = NULL;
        return;
    }
}

void slots_follow(bench *b)
{
    const notebook *nb = fold_notebook(b->fold);
    size_t n = notebook_count(nb), was;
    struct slot **slots = mem_array(n + 1, sizeof(struct slot *));
    hashmap *at = hashmap_new();
    for (size_t i = 0; i < n; i++) {
        const cell *c = notebook_cell(nb, i);
        slots[i] = slot_by_id(b, c->id, &was) ? STEAL(b->slots[was]) : NULL;
        if (!slots[i]) // or there is a second cell with this id
            slots[i] = slot_new(c);
        follow_cell(b, slots[i], c);
        hashmap_set(at, c->id, strlen(c->id), i);
    }
    keep_typed(b, slots, n);
    slots_free(b);
    b->slots = slots;
    b->slot_at = at;
    b->n_slots = n;
    b->dirty = true;
}

void slots_age(bench *b)
{
    for (size_t i = 0; i < b->n_slots; i++)
        b->slots[i]->version += b->slots[i]->drawing.ages;
}

void slots_follow_cell(bench *b, const char *id)
{
    size_t at;
    struct slot *s = slot_by_id(b, id, &at);
    if (s)
        follow_cell(b, s, slot_cell(b, at));
    b->dirty = true;
}

bool slot_changed(struct slot *s, const char *hash)
{
    const text *t = edit_text(s->edit);
    if (s->hashed != text_revision(t) || !s->hash[0]) {
        AUTO_BUF source = {0};
        text_all(t, &source);
        cell_digest(buf_cstr(&source), source.len, s->hash);
        s->hashed = text_revision(t);
    }
    return !str_eq(s->hash, hash);
}
