// SPDX-License-Identifier: MIT
#include "script/notebook/readycells.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <ctype.h>
#include <dirent.h>
#include <string.h>

enum { MOST = 64 << 10, DEPTH = 3 };

static bool is_python(const char *language)
{
    return language && strcasecmp(language, "python") == 0;
}

// The text of a comment line; *n: its length. NULL: this line has no comment.
static const char *comment(const char *line, size_t *n)
{
    size_t marks = str_starts(line, "--") ? 2 : *line == '#';
    if (!marks || str_starts(line + marks, " %%"))
        return NULL;
    const char *text = line + marks + strspn(line + marks, " ");
    *n = strcspn(text, "\n");
    return text;
}

// The words of a line; new.
static char **words_of(const char *text)
{
    char **words = NULL;
    for (size_t n; *(text += strspn(text, " ")); text += n) {
        n = strcspn(text, " ");
        AUTO_FREE char *word = mem_strndup(text, n);
        words = strv_add(words, word);
    }
    return words;
}

static char *rest_of(const char *text, size_t n, const char *key)
{
    size_t skip = strlen(key);
    return n > skip && strncmp(text, key, skip) == 0 ? str_trim(text + skip, n - skip) : NULL;
}

// Reads the comments at the top; returns where the cells begin.
static const char *read_head(const char *text, struct readycells_entry *one)
{
    size_t n;
    for (const char *words; (words = comment(text, &n)); text = words + n + (words[n] == '\n')) {
        AUTO_FREE char *after = rest_of(words, n, "after:");
        char *cells = rest_of(words, n, "cells:"), *lua = rest_of(words, n, "lua:");
        one->cells = cells ? cells : one->cells;
        one->lua = lua ? lua : one->lua;
        if (after)
            one->after = words_of(after);
        if (!after && !cells && !lua && !one->about)
            one->about = mem_strndup(words, n);
    }
    return text;
}

// "15-deploy.lua" is the entry "deploy".
static char *name_of(const char *file, const char *ending)
{
    const char *name = file + strspn(file, "0123456789");
    if (name == file || *name != '-' || !str_ends(file, ending))
        return NULL;
    return mem_strndup(name + 1, strlen(name + 1) - strlen(ending));
}

static int by_path(const void *a, const void *b)
{
    return strcmp(
        ((const struct readycells_entry *)a)->path, ((const struct readycells_entry *)b)->path);
}

static void entry_done(struct readycells_entry *one)
{
    free(one->name);
    free(one->about);
    free(one->path);
    free(one->cells);
    free(one->lua);
    strv_free(one->after);
}

void readycells_read(struct readycells *g, const char *folder, const char *language)
{
    bool python = is_python(language);
    *g = (struct readycells){.folder = mem_strdup(folder)};
    bool is_lua = !language || strcasecmp(language, "lua") == 0;
    AUTO_FREE char *cells = path_join(folder, python ? "cells/python" : "cells/lua");
    DIR *d = is_lua || python ? opendir(cells) : NULL;
    for (struct dirent *file; d && (file = readdir(d));) {
        AUTO_BUF text = {0};
        struct readycells_entry one = {.name = name_of(file->d_name, python ? ".py" : ".lua")};
        one.path = path_join(cells, file->d_name);
        if (!one.name || path_read(one.path, &text, MOST, NULL) < 0) {
            entry_done(&one);
            continue;
        }
        read_head(buf_cstr(&text), &one);
        g->list = mem_resize(g->list, g->n + 1, sizeof *g->list);
        g->list[g->n++] = one;
    }
    if (d)
        closedir(d);
    if (g->n)
        qsort(g->list, g->n, sizeof *g->list, by_path);
}

void readycells_done(struct readycells *g)
{
    for (size_t i = 0; i < g->n; i++)
        entry_done(&g->list[i]);
    free(g->list);
    free(g->folder);
    *g = (struct readycells){0};
}

const struct readycells_entry *readycells_find(const struct readycells *g, const char *name)
{
    for (size_t i = 0; i < g->n; i++)
        if (str_eq(g->list[i].name, name))
            return &g->list[i];
    return NULL;
}

static void add_part(notebook ***parts, notebook *nb)
{
    size_t n = 0;
    while (*parts && (*parts)[n])
        n++;
    *parts = mem_resize(*parts, n + 2, sizeof **parts);
    (*parts)[n] = nb;
    (*parts)[n + 1] = NULL;
}

void readycells_free(notebook **parts)
{
    for (size_t i = 0; parts && parts[i]; i++)
        notebook_free(parts[i]);
    free(parts);
}

// The cell of a recipe that is called so, alone.
static notebook *of_recipe(const struct readycells *g, const char *file, const char *title, err *e)
{
    AUTO_FREE char *path = path_join(g->folder, file);
    notebook *nb = notebook_load(path, e);
    bool found = false;
    for (size_t i = nb ? notebook_count(nb) : 0; i-- > 0;) {
        AUTO_FREE char *own = notebook_cell_title(nb, i);
        bool is = !found && notebook_cell(nb, i)->kind == CELL_CODE && str_eq(own, title);
        found |= is;
        if (!is)
            notebook_delete(nb, i);
    }
    if (nb && !found) {
        err_set(e, ERR_NOT_FOUND, "%s has no cell %s", path, title);
        notebook_free(nb);
        return NULL;
    }
    return nb;
}

static int add_cells(const struct readycells *g, const struct readycells_entry *entry, int depth,
    notebook ***parts, err *e);

static int add_named(
    const struct readycells *g, const char *names, int depth, notebook ***parts, err *e)
{
    char **list = words_of(names);
    int result = 0;
    for (char **name = list; result == 0 && name && *name; name++) {
        const struct readycells_entry *other = readycells_find(g, *name);
        result = other && depth ? add_cells(g, other, depth - 1, parts, e)
                                : err_set(e, ERR_NOT_FOUND, "the gallery has no cells %s", *name);
    }
    strv_free(list);
    return result;
}

// The cells of this name in Lua, for a notebook in Python.
static int add_in_lua(const struct readycells *g, const char *name, notebook ***parts, err *e)
{
    struct readycells lua;
    notebook **own = NULL, *nb = notebook_new();
    readycells_read(&lua, g->folder, NULL);
    const struct readycells_entry *entry = readycells_find(&lua, name);
    int result = entry ? readycells_of(&lua, entry, &own, e)
                       : err_set(e, ERR_NOT_FOUND, "the gallery has no cells %s in Lua", name);
    for (size_t p = 0; own && own[p]; p++)
        for (size_t i = 0; i < notebook_count(own[p]); i++) {
            const cell *c = notebook_cell(own[p], i);
            bool is_lua = c->kind == CELL_CODE && !c->options.language;
            AUTO_FREE char *marker = str_fmt("%s%s", c->marker, is_lua ? " language=\"lua\"" : "");
            notebook_insert(nb, notebook_count(nb), marker, c->source);
        }
    add_part(parts, nb);
    readycells_free(own);
    readycells_done(&lua);
    return result;
}

static int add_cells(const struct readycells *g, const struct readycells_entry *entry, int depth,
    notebook ***parts, err *e)
{
    notebook *nb;
    const char *colon = entry->cells ? strstr(entry->cells, ": ") : NULL;
    if (entry->cells && !colon)
        return add_named(g, entry->cells, depth, parts, e);
    if (entry->lua)
        return add_in_lua(g, entry->lua, parts, e);
    if (colon) {
        AUTO_FREE char *file = mem_strndup(entry->cells, (size_t)(colon - entry->cells));
        nb = of_recipe(g, file, colon + 2, e);
    } else {
        AUTO_BUF text = {0};
        struct readycells_entry head = {0};
        if (path_read(entry->path, &text, MOST, e) < 0)
            return -1;
        const char *cells = read_head(buf_cstr(&text), &head);
        cells += strspn(cells, "\n");
        nb = notebook_parse_as(entry->path, cells, strlen(cells), e);
        entry_done(&head);
    }
    if (nb)
        add_part(parts, nb);
    return nb ? 0 : err_wrap(e, "%s of the gallery", entry->name);
}

int readycells_of(
    const struct readycells *g, const struct readycells_entry *entry, notebook ***parts, err *e)
{
    *parts = NULL;
    int result = add_cells(g, entry, DEPTH, parts, e);
    if (result < 0) {
        readycells_free(*parts);
        *parts = NULL;
    }
    return result;
}

char **readycells_names(const char *source)
{
    char **names = NULL;
    while (*source) {
        size_t n = 0;
        while (isalnum((unsigned char)source[n]) || source[n] == '_')
            n++;
        const char *after = source + n + strspn(source + n, " ");
        bool is_name = n && !isdigit((unsigned char)*source);
        if (is_name && *after == '=' && after[1] != '=') {
            AUTO_FREE char *name = mem_strndup(source, n);
            names = strv_add(names, name);
        }
        source += strcspn(source, "\n");
        source += *source == '\n';
    }
    return names;
}
