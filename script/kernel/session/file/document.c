// SPDX-License-Identifier: MIT
#include "script/kernel/session/file/document.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/protocol/message.h"

#include <string.h>

// When a cell was last changed, and by whom; cells without an entry were never changed.
struct change {
    char *cell;
    int64_t rev;
    int64_t by;
};

struct document {
    notebook *notebook;
    char *path;
    bool saved;
    notebook_outputs_fn *outputs;
    void *outputs_arg;
    int64_t rev;
    struct change *changes;
    size_t n_changes;
    char file_hash[SHA256_HEX]; // hash of the file when we last read or wrote it, "" if never
    char told_hash[SHA256_HEX]; // hash of the file when clients were last told of a change
};

static void note_file(document *d)
{
    if (!d->path || sha256_file(d->path, d->file_hash, NULL) < 0)
        d->file_hash[0] = '\0';
    d->told_hash[0] = '\0'; // report the same change again
}

document *document_new(notebook *nb, const char *path, bool saved)
{
    document *d = mem_alloc(sizeof *d);
    d->notebook = nb;
    d->path = mem_strdup(path);
    d->saved = saved;
    d->rev = 1;
    note_file(d);
    return d;
}

void document_adopt_ids(document *d, const notebook *then)
{
    notebook_adopt_ids(d->notebook, then);
}

static void forget_changes(document *d)
{
    for (size_t i = 0; i < d->n_changes; i++)
        free(d->changes[i].cell);
    free(STEAL(d->changes));
    d->n_changes = 0;
}

void document_free(document *d)
{
    if (!d)
        return;
    forget_changes(d);
    notebook_free(d->notebook);
    free(d->path);
    free(d);
}

const notebook *document_notebook(const document *d)
{
    return d->notebook;
}

int64_t document_rev(const document *d)
{
    return d->rev;
}

bool document_saved(const document *d)
{
    return d->saved;
}

const char *document_path(const document *d)
{
    return d->path;
}

void document_set_outputs(document *d, notebook_outputs_fn *outputs, void *arg)
{
    d->outputs = outputs;
    d->outputs_arg = arg;
}

void document_forget_outputs(document *d, const char *id)
{
    size_t i;
    notebook_forget_outputs(d->notebook, id);
    if (d->path && str_ends(d->path, ".ipynb") && notebook_find(d->notebook, id, &i) &&
        notebook_cell(d->notebook, i)->kind == CELL_CODE)
        d->saved = false;
}

static struct change *change_of(const document *d, const char *id)
{
    for (size_t i = 0; i < d->n_changes; i++)
        if (str_eq(d->changes[i].cell, id))
            return &d->changes[i];
    return NULL;
}

static void note_change(document *d, const char *id, int64_t by)
{
    struct change *c = change_of(d, id);
    d->saved = false;
    d->rev++;
    if (!c) {
        d->changes = mem_resize(d->changes, d->n_changes + 1, sizeof *d->changes);
        c = &d->changes[d->n_changes++];
        c->cell = mem_strdup(id);
    }
    c->rev = d->rev;
    c->by = by;
}

static int find_cell(const document *d, const char *id, size_t *i, err *e)
{
    return notebook_find(d->notebook, id, i) ? 0
                                             : err_set(e, ERR_NOT_FOUND, "there is no cell %s", id);
}

// The cell that a message names; an error if somebody else has changed it since the message's
// revision.
static int find_unchanged(const document *d, const cJSON *message, int64_t by, size_t *i, err *e)
{
    const char *id = json_str(message, "cell");
    const struct change *c = change_of(d, id);
    if (c && c->by != by && c->rev > json_int_or(message, "rev", 0))
        return err_set(e, ERR_CONFLICT, "cell %s was changed by another client (revision %lld)", id,
            (long long)c->rev);
    return find_cell(d, id, i, e);
}

// The index after the cell that `after` names; 0 without `after`.
static int find_place(const document *d, const cJSON *message, size_t *at, err *e)
{
    const char *after = json_str(message, "after");
    *at = 0;
    if (!after)
        return 0;
    if (find_cell(d, after, at, e) < 0)
        return -1;
    *at += 1;
    return 0;
}

static cJSON *edited_event(const document *d, const char *change, const char *id)
{
    cJSON *event = message_new(MESSAGE_edited);
    json_set_int(event, "rev", d->rev);
    json_set_str(event, "change", change);
    json_set_str(event, "cell", id);
    return event;
}

static cJSON *edit(document *d, const cJSON *m, int64_t by, err *e)
{
    size_t i;
    if (find_unchanged(d, m, by, &i, e) < 0)
        return NULL;
    const char *marker = json_str(m, "marker"), *source = json_str(m, "source");
    if (marker)
        notebook_set_marker(d->notebook, i, marker);
    const cell *c = notebook_replace(d->notebook, i, source);
    note_change(d, c->id, by);
    cJSON *event = edited_event(d, "edit", c->id);
    json_set_str(event, "source", source);
    json_set_str(event, "marker", marker);
    return event;
}

static cJSON *insert(document *d, const cJSON *m, int64_t by, err *e)
{
    size_t at, taken;
    const char *id = json_str(m, "as");
    if (find_place(d, m, &at, e) < 0)
        return NULL;
    if (id && notebook_find(d->notebook, id, &taken)) {
        err_set(e, ERR_EXISTS, "there is a cell %s already", id);
        return NULL;
    }
    const char *marker = json_str_or(m, "marker", ""), *source = json_str(m, "source");
    const cell *c = notebook_insert_as(d->notebook, at, id, marker, source);
    note_change(d, c->id, by);
    cJSON *event = edited_event(d, "insert", c->id);
    json_set_str(event, "after", json_str(m, "after"));
    json_set_str(event, "source", source);
    json_set_str(event, "marker", c->marker);
    return event;
}

static cJSON *move(document *d, const cJSON *m, int64_t by, err *e)
{
    size_t from, to;
    if (find_unchanged(d, m, by, &from, e) < 0 || find_place(d, m, &to, e) < 0)
        return NULL;
    notebook_move(d->notebook, from, to > from ? to - 1 : to);
    note_change(d, json_str(m, "cell"), by);
    cJSON *event = edited_event(d, "move", json_str(m, "cell"));
    json_set_str(event, "after", json_str(m, "after"));
    return event;
}

static cJSON *delete (document *d, const cJSON *m, int64_t by, err *e)
{
    size_t i;
    if (find_unchanged(d, m, by, &i, e) < 0)
        return NULL;
    note_change(d, json_str(m, "cell"), by);
    notebook_delete(d->notebook, i);
    return edited_event(d, "delete", json_str(m, "cell"));
}

static bool file_changed(const document *d)
{
    char now[SHA256_HEX];
    return d->path && d->file_hash[0] && sha256_file(d->path, now, NULL) == 0 &&
           !str_eq(now, d->file_hash);
}

// Is the path a place where the notebook may be written?
static int check_place(const char *path, bool force, err *e)
{
    if (path_is_dir(path))
        return err_set(e, ERR_INVALID, "%s is a folder: name a file", path);
    if (!force && path_is_read_only(path))
        return err_set(e, ERR_FORBIDDEN, "%s is read-only; only force writes it (:w!)", path);
    return 0;
}

static cJSON *save(document *d, const cJSON *m, int64_t by, err *e)
{
    bool force = json_bool_or(m, "force", false);
    const char *path = json_str_or(m, "path", d->path);
    if (!path) {
        err_set(e, ERR_USAGE, "this notebook has no file yet; save it under a name");
        return NULL;
    }
    if (json_int_or(m, "rev", 0) < d->rev) {
        err_set(e, ERR_CONFLICT, "there are newer edits (revision %lld)", (long long)d->rev);
        return NULL;
    }
    if (check_place(path, force, e) < 0)
        return NULL;
    if (str_eq(path, d->path) && file_changed(d) && !force) {
        err_set(e, ERR_CONFLICT, "%s has changed since it was opened; reload it, or save by force",
            path);
        return NULL;
    }
    if (!str_eq(path, d->path) && path_exists(path) && !force) {
        err_set(e, ERR_EXISTS, "%s is there already", path);
        return NULL;
    }
    if (notebook_save_with(d->notebook, path, d->outputs, d->outputs_arg, e) < 0)
        return NULL;
    char *old = d->path;
    d->path = mem_strdup(path);
    free(old);
    d->saved = true;
    note_file(d);
    cJSON *event = edited_event(d, "save", NULL);
    json_set_str(event, "path", d->path);
    return event;
}

static cJSON *reload(document *d, const cJSON *m, int64_t by, err *e)
{
    if (!d->path) {
        err_set(e, ERR_USAGE, "this notebook has no file yet");
        return NULL;
    }
    err why = {0};
    notebook *nb = notebook_load(d->path, &why);
    bool was_read = nb != NULL;
    if (!nb && json_bool_or(m, "discard", false))
        nb = notebook_blank();
    if (!nb) {
        err_give(e, &why);
        return NULL;
    }
    notebook_adopt_ids(nb, d->notebook);
    notebook_free(d->notebook);
    d->notebook = nb;
    forget_changes(d);
    d->rev++;
    d->saved = true;
    if (was_read) // otherwise saving would still ask before it overwrites the file
        note_file(d);
    return document_event(d);
}

cJSON *document_change(document *d, const char *type, const cJSON *message, int64_t by, err *e)
{
    static const struct {
        const char *type;
        cJSON *(*fn)(document *d, const cJSON *m, int64_t by, err *e);
    } changes[] = {{"edit", edit}, {"insert", insert}, {"move", move}, {"delete", delete},
        {"save", save}, {"reload", reload}};
    for (size_t i = 0; i < ARRAY_LEN(changes); i++)
        if (str_eq(changes[i].type, type))
            return changes[i].fn(d, message, by, e);
    err_set(e, ERR_INVALID, "%s is no change of a document", type);
    return NULL;
}

static cJSON *cell_tree(const cell *c)
{
    cJSON *tree = cJSON_CreateObject();
    json_set_str(tree, "id", c->id);
    json_set_str(tree, "kind", cell_kind_name(c->kind));
    json_set_str(tree, "title", c->title);
    json_set_str(tree, "marker", c->marker);
    json_set_str(tree, "source", c->source);
    json_set_int(tree, "line", c->line);
    return tree;
}

cJSON *document_event(const document *d)
{
    AUTO_BUF text = {0};
    notebook_print(d->notebook, &text);
    cJSON *event = message_new(MESSAGE_document), *cells = cJSON_CreateArray();
    for (size_t i = 0; i < notebook_count(d->notebook); i++)
        cJSON_AddItemToArray(cells, cell_tree(notebook_cell(d->notebook, i)));
    json_set_int(event, "rev", d->rev);
    json_set_str(event, "path", d->path);
    json_set_bool(event, "saved", d->saved);
    json_set_str(event, "text", buf_cstr(&text));
    json_set(event, "cells", cells);
    return event;
}

bool document_touched(const document *d)
{
    return !d->saved && file_changed(d);
}

int document_refresh(document *d, cJSON **event)
{
    if (!file_changed(d))
        return 0;
    if (d->saved && (*event = reload(d, NULL, 0, NULL)))
        return 1;
    char now[SHA256_HEX];
    if (sha256_file(d->path, now, NULL) < 0 || str_eq(now, d->told_hash))
        return 0;
    memcpy(d->told_hash, now, sizeof now);
    *event = message_new(MESSAGE_touched);
    json_set_str(*event, "path", d->path);
    return 2;
}
