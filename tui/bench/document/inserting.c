// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/readycells.h"
#include "tui/bench/bench_private.h"
#include "tui/bench/structure.h"

#include <string.h>

struct inserting {
    struct readycells gallery;
    char *language; // of the notebook; NULL: Lua
    char **lines;   // "insert deploy", as the gallery's list
};

void inserting_done(bench *b)
{
    struct inserting *r = STEAL(b->inserting);
    if (!r)
        return;
    readycells_done(&r->gallery);
    strv_free(r->lines);
    free(r->language);
    free(r);
}

static const struct inserting *ready(bench *b)
{
    const notebook *nb = b->fold ? fold_notebook(b->fold) : NULL;
    const char *language = nb ? notebook_language(nb) : NULL;
    if (b->inserting && str_eq(b->inserting->language, language))
        return b->inserting;
    inserting_done(b);
    struct inserting *r = b->inserting = mem_alloc(sizeof *r);
    r->language = mem_strdup(language);
    if (b->gallery)
        readycells_read(&r->gallery, b->gallery, language);
    for (size_t i = 0; i < r->gallery.n; i++) {
        AUTO_FREE char *line = str_fmt(INSERTING "%s", r->gallery.list[i].name);
        r->lines = strv_add(r->lines, line);
    }
    return r;
}

const char *inserting_nth(bench *b, size_t i, const char **about)
{
    const struct inserting *r = ready(b);
    if (i >= r->gallery.n)
        return NULL;
    *about = r->gallery.list[i].about ? r->gallery.list[i].about : "";
    return r->lines[i];
}

// What goes on while the cells of a name are inserted.
struct insertion {
    bench *bench;
    const char *after; // id of the cell behind which the next one goes
    const char *first; // id of the first one; NULL: none yet
    size_t n;
    buf notes;
};

static void note(struct insertion *in, const char *what, size_t i)
{
    AUTO_BUF name = {0};
    slot_name(in->bench, i, &name);
    buf_fmt(&in->notes, "; %s %s", what, buf_cstr(&name));
}

// The file that a cell writes, new; NULL: none.
static char *file_of(const cell *c)
{
    static const char magic[] = "%%writefile ";
    const struct cell_options *o = &c->options;
    if (o->file || o->template_)
        return mem_strdup(o->file ? o->file : o->template_);
    if (!str_starts(c->source, magic))
        return NULL;
    const char *name = c->source + strlen(magic);
    return str_trim(name, strcspn(name, "\n"));
}

static bool writes(bench *b, const char *file, size_t *i)
{
    for (*i = 0; *i < b->n_slots; ++*i) {
        AUTO_FREE char *own = file_of(slot_cell(b, *i));
        if (own && str_eq(own, file))
            return true;
    }
    return false;
}

static bool has_parameters(bench *b, size_t *i)
{
    for (*i = 0; *i < b->n_slots; ++*i)
        if (cell_has_tag(slot_cell(b, *i), "parameters"))
            return true;
    return false;
}

static bool has_name(char *const *names, const char *name)
{
    for (char *const *n = names; n && *n; n++)
        if (str_eq(*n, name))
            return true;
    return false;
}

// The notebook's cell of parameters keeps what it has, and gets the names that it lacks.
static void add_parameters(struct insertion *in, size_t at, const char *source)
{
    bench *b = in->bench;
    AUTO_BUF all = {0}, added = {0};
    text_all(edit_text(b->slots[at]->edit), &all);
    char **has = readycells_names(buf_cstr(&all));
    for (const char *line = source; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        AUTO_FREE char *one = mem_strndup(line, strcspn(line, "\n"));
        char **names = readycells_names(one);
        if (names && !has_name(has, names[0])) {
            buf_fmt(&all, "\n%s", one);
            buf_fmt(&added, "%s%s", added.len ? ", " : "", names[0]);
        }
        strv_free(names);
    }
    strv_free(has);
    AUTO_BUF name = {0};
    slot_name(b, at, &name);
    if (added.len) {
        history_edit(b, at, slot_cell(b, at)->marker, buf_cstr(&all));
        in->first = in->first ? in->first : b->slots[at]->id;
        buf_fmt(&in->notes, "; %s has got %s", buf_cstr(&name), buf_cstr(&added));
    } else {
        buf_fmt(&in->notes, "; %s has these names already", buf_cstr(&name));
    }
}

static bool sets_names(const cell *c)
{
    AUTO_FREE char *file = file_of(c);
    return c->kind == CELL_CODE && !c->options.language && !file;
}

// Says which names the new cell sets that another one sets, too.
static void note_names(struct insertion *in, const cell *c)
{
    bench *b = in->bench;
    char **sets = sets_names(c) ? readycells_names(c->source) : NULL;
    for (size_t i = 0; sets && i < b->n_slots; i++) {
        const cell *other = slot_cell(b, i);
        char **has = sets_names(other) ? readycells_names(other->source) : NULL;
        for (char **name = sets; *name; name++)
            if (has_name(has, *name)) {
                AUTO_FREE char *what = str_fmt("%s is set, too, by", *name);
                note(in, what, i);
            }
        strv_free(has);
    }
    strv_free(sets);
}

static void insert_cell(struct insertion *in, const cell *c)
{
    bench *b = in->bench;
    size_t i;
    AUTO_FREE char *file = file_of(c);
    if (cell_has_tag(c, "parameters") && has_parameters(b, &i)) {
        add_parameters(in, i, c->source);
        return;
    }
    if (file && writes(b, file, &i)) {
        AUTO_FREE char *what = str_fmt("%s is written already by", file);
        note(in, what, i);
        return;
    }
    note_names(in, c);
    in->after = history_insert(b, in->after, c->marker, c->source);
    in->first = in->first ? in->first : in->after;
    in->n++;
}

static bool has_title(bench *b, const notebook *part)
{
    const cell *last = notebook_count(part) ? notebook_cell(part, notebook_count(part) - 1) : NULL;
    for (size_t i = 0; last && i < b->n_slots; i++)
        if (last->title ? str_eq(slot_cell(b, i)->title, last->title)
                        : cell_has_tag(slot_cell(b, i), "parameters"))
            return true;
    return false;
}

// Says which other cells make what these use, where the notebook has none of them.
static void note_needs(
    struct insertion *in, const struct readycells *g, const struct readycells_entry *entry)
{
    AUTO_BUF names = {0};
    for (char **name = entry->after; name && *name; name++) {
        const struct readycells_entry *other = readycells_find(g, *name);
        notebook **parts = NULL;
        if (other && readycells_of(g, other, &parts, NULL) == 0 && parts && *parts &&
            !has_title(in->bench, *parts))
            buf_fmt(&names, "%s%s", names.len ? " and " : "", *name);
        readycells_free(parts);
    }
    if (names.len)
        buf_fmt(&in->notes, "; before it belongs: " INSERTING "%s", buf_cstr(&names));
}

static bool is_blank(bench *b)
{
    return b->n_slots == 1 && !*slot_cell(b, 0)->source && !*slot_cell(b, 0)->marker &&
           !slot_unsent(b->slots[0]);
}

static void say_inserted(struct insertion *in)
{
    const char *notes = in->notes.len ? buf_cstr(&in->notes) : "";
    if (in->n)
        bench_say(in->bench, "%zu cell%s: C-r runs one and goes on, z takes %s back%s", in->n,
            in->n == 1 ? "" : "s", in->n == 1 ? "it" : "them", notes);
    else
        bench_complain(in->bench, "nothing is inserted%s", notes);
}

static void complain_of_name(bench *b, const struct inserting *r, const char *name)
{
    AUTO_BUF names = {0};
    for (size_t i = 0; i < r->gallery.n; i++)
        buf_fmt(&names, "%s%s", i ? ", " : "", r->gallery.list[i].name);
    if (names.len)
        bench_complain(b, "there are no ready cells %s; there are: %s", name, buf_cstr(&names));
    else if (b->gallery)
        bench_complain(b, "there are ready cells in Lua and Python, none in %s", r->language);
    else
        bench_complain(b, "the ready cells are not installed");
}

void inserting_insert(bench *b, size_t at, const char *name)
{
    err e = {0};
    const struct inserting *r = ready(b);
    const struct readycells_entry *entry = readycells_find(&r->gallery, name);
    notebook **parts = NULL;
    if (!remote_ready(b, true))
        return;
    if (!entry) {
        complain_of_name(b, r, name);
        return;
    }
    if (readycells_of(&r->gallery, entry, &parts, &e) < 0) {
        bench_complain(b, "%s", e.text);
        return;
    }
    bool blank = is_blank(b);
    struct insertion in = {.bench = b, .after = blank || at == 0 ? NULL : b->slots[at - 1]->id};
    note_needs(&in, &r->gallery, entry);
    history_begin(b, "insert", NULL);
    for (size_t p = 0; parts && parts[p]; p++)
        for (size_t i = 0; i < notebook_count(parts[p]); i++)
            insert_cell(&in, notebook_cell(parts[p], i));
    if (blank && in.n)
        history_delete(b, 0);
    if (in.first)
        bench_select(b, in.first);
    history_end(b);
    say_inserted(&in);
    buf_done(&in.notes);
    readycells_free(parts);
}
