// SPDX-License-Identifier: MIT
// The cells as they are shown and edited here. The fold has the kernel's document; what a person
// types is in the slot's text first, and in the fold when the kernel has said so.
#include "base/mem.h"
#include "base/str.h"
#include "tui/view/view.h"

#include <string.h>

static void slot_free(struct slot *s)
{
    if (!s)
        return;
    edit_free(s->edit);
    syntax_cache_free(s->syntax);
    grid_free(s->output);
    free(s->id);
    free(s);
}

void slots_free(bench *b)
{
    for (size_t i = 0; i < b->n_slots; i++)
        slot_free(b->slots[i]);
    free(b->slots);
    b->slots = NULL;
    b->n_slots = 0;
}

struct slot *slot_by_id(bench *b, const char *id, size_t *at)
{
    for (size_t i = 0; id && i < b->n_slots; i++) {
        if (!b->slots[i] || !str_eq(b->slots[i]->id, id))
            continue; // NULL: it has gone into the new list already
        if (at)
            *at = i;
        return b->slots[i];
    }
    return NULL;
}

const cell *slot_cell(const bench *b, size_t i)
{
    return notebook_cell(fold_notebook(b->fold), i);
}

const struct run_cell *slot_run(const bench *b, size_t i)
{
    return fold_cell_by_id(b->fold, b->slots[i]->id, NULL);
}

bool slot_unsent(const struct slot *s)
{
    return text_revision(edit_text(s->edit)) != s->sent;
}

// %%bash and its like choose the language, else the marker's options.
static syntax_language language_of(const cell *c)
{
    if (c->kind == CELL_MARKDOWN)
        return SYNTAX_MARKDOWN;
    if (c->kind == CELL_RAW)
        return SYNTAX_PLAIN;
    if (c->options.language)
        return syntax_by_name(c->options.language);
    const char *file = c->options.file ? c->options.file : c->options.template_;
    syntax_language by_file = file ? syntax_by_file(file) : SYNTAX_LUA;
    if (file)
        return by_file;
    if (strncmp(c->source, "%%bash", 6) == 0 || strncmp(c->source, "%%sh", 4) == 0)
        return SYNTAX_BASH;
    return SYNTAX_LUA;
}

static struct slot *slot_new(const cell *c)
{
    struct slot *s = mem_alloc(sizeof *s);
    s->id = mem_strdup(c->id);
    s->edit = edit_new(c->source, strlen(c->source));
    s->syntax = syntax_cache_new();
    s->sent = text_revision(edit_text(s->edit));
    s->version = 1;
    return s;
}

// The kernel's text wins, unless something typed here is not sent yet.
static void follow_cell(struct slot *s, const cell *c)
{
    s->language = language_of(c);
    edit_set_language(s->edit, syntax_comment(s->language), syntax_indent(s->language));
    if (slot_unsent(s))
        return;
    AUTO_BUF now = {0};
    text_all(edit_text(s->edit), &now);
    if (!str_eq(buf_cstr(&now), c->source))
        edit_reset(s->edit, c->source, strlen(c->source));
    s->sent = text_revision(edit_text(s->edit));
}

void slots_follow(bench *b)
{
    const notebook *nb = fold_notebook(b->fold);
    size_t n = notebook_count(nb);
    struct slot **slots = mem_array(n + 1, sizeof(struct slot *));
    for (size_t i = 0; i < n; i++) {
        const cell *c = notebook_cell(nb, i);
        size_t was;
        slots[i] = slot_by_id(b, c->id, &was) ? STEAL(b->slots[was]) : slot_new(c);
        follow_cell(slots[i], c);
    }
    slots_free(b);
    b->slots = slots;
    b->n_slots = n;
    b->dirty = true;
}
