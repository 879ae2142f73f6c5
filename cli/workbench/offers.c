// SPDX-License-Identifier: MIT
#include "cli/workbench/offers.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/file/writer.h"
#include "script/notebook/notebook.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NEEDS "It needs "

static struct offer *add(struct offers *o, enum offer_kind kind, const struct stat *st)
{
    int64_t when = st->st_mtim.tv_sec * CLOCK_SEC + st->st_mtim.tv_nsec;
    o->list = mem_resize(o->list, o->n + 1, sizeof *o->list);
    struct offer *new = &o->list[o->n++];
    AUTO_BUF age = {0};
    duration_age(&age, clock_wall() - when);
    *new = (struct offer){.kind = kind, .when = when, .age = mem_strdup(buf_cstr(&age))};
    return new;
}

// Entries of this folder come first, kernels elsewhere last: there may be many. The blank notebook
// comes right after notebooks, since many recipes would hide it; a folder without notebooks begins
// with recipes.
static int rank(const struct offer *o)
{
    if (o->kind == OFFER_BLANK && o->follows)
        return 1;
    static const int ranks[] = {[OFFER_NOTEBOOK] = 1,
        [OFFER_TOUR] = 2,
        [OFFER_RECIPE] = 3,
        [OFFER_BLANK] = 4,
        [OFFER_KERNEL] = 5};
    return o->here ? 0 : ranks[o->kind];
}

static int compare(const void *a_, const void *b_)
{
    const struct offer *a = a_, *b = b_;
    if (rank(a) != rank(b))
        return rank(a) - rank(b);
    if (a->kind == OFFER_RECIPE) // as they are numbered
        return strcmp(a->notebook, b->notebook);
    return (a->when < b->when) - (a->when > b->when);
}

static void sort(struct offers *o)
{
    if (o->n)
        qsort(o->list, o->n, sizeof *o->list, compare);
}

// Two kernels of one notebook are distinguished by the end of their runs' names.
static void tell_apart(struct offers *o)
{
    enum { HASH = 4 };
    for (size_t i = 0; i < o->n; i++) {
        struct offer *one = &o->list[i];
        bool twin = false;
        for (size_t k = 0; k < o->n; k++)
            twin |= k != i && str_eq(one->notebook, o->list[k].notebook) &&
                    str_eq(one->folder, o->list[k].folder);
        size_t n = strlen(one->kernel->run);
        const char *hash = one->kernel->run + (n > HASH ? n - HASH : 0);
        if (twin)
            one->about = str_fmt("run %s, in %s", hash, one->folder);
    }
}

void offers_kernels(struct offers *o, const struct kernels *k, const char *cwd)
{
    for (size_t i = 0; i < k->n; i++) {
        struct stat st = {0};
        stat(k->list[i].socket, &st);
        struct offer *new = add(o, OFFER_KERNEL, &st);
        new->kernel = &k->list[i];
        new->notebook = journal_run_notebook(k->list[i].run);
        new->folder = mem_strdup(k->list[i].cwd);
        new->here = str_eq(k->list[i].cwd, cwd);
        new->detail = str_fmt("%s, in %s", k->list[i].run, k->list[i].cwd);
    }
    tell_apart(o);
    sort(o);
}

// A Lua file is listed as a notebook if it has a cell's marker near its beginning.
static bool is_notebook(const char *path)
{
    char head[16 << 10];
    FILE *f = str_ends(path, ".lua") ? fopen(path, "re") : NULL;
    if (!f)
        return str_ends(path, ".ipynb");
    size_t n = fread(head, 1, sizeof head - 1, f);
    head[n] = '\0';
    fclose(f);
    return str_starts(head, "-- %%") || strstr(head, "\n-- %%");
}

static bool is_open(const struct offers *o, const char *name, const char *folder)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->list[i].kind == OFFER_KERNEL && str_eq(o->list[i].folder, folder) &&
            str_starts(name, o->list[i].notebook) && name[strlen(o->list[i].notebook)] == '.')
            return true;
    return false;
}

// Does a cell declare that it changes a cluster?
static bool needs_cluster(const notebook *nb)
{
    for (size_t i = 0; i < notebook_count(nb); i++)
        for (char **e = notebook_cell(nb, i)->options.effects; e && *e; e++)
            if (str_eq(*e, "cluster") || str_eq(*e, "destructive"))
                return true;
    return false;
}

// The beginning of a recipe's own description: its heading, and the paragraph below it.
static void read_prose(const char *words, struct offer *o)
{
    AUTO_BUF said = {0};
    while (*words) {
        size_t n = strcspn(words, "\n"), skip = strspn(words, "# ");
        bool heading = *words == '#';
        if (heading && !o->about)
            o->about = mem_strndup(words + skip, n > skip ? n - skip : 0);
        else if (!n && said.len)
            break;
        else if (!heading && n) {
            buf_str(&said, said.len ? " " : "");
            buf_add(&said, words, n);
        }
        words += n + (words[n] == '\n');
    }
    const char *stop = memrchr(buf_cstr(&said), '.', said.len); // of the last whole sentence
    o->detail = mem_strndup(buf_cstr(&said), stop ? (size_t)(stop + 1 - said.data) : said.len);
}

// The recipe's sentence "It needs Java and a cluster.", wherever it stands in a cell; NULL: none.
static char *own_needs(const char *words)
{
    AUTO_BUF said = {0};
    const char *at = strstr(words, NEEDS);
    if (!at)
        return NULL;
    for (; *at; at++) {
        bool ends = !at[1] || at[1] == ' ' || at[1] == '\n';
        if (ends && (*at == '.' || *at == ':'))
            break;
        buf_char(&said, *at == '\n' ? ' ' : *at);
    }
    buf_char(&said, '.');
    return buf_take(&said);
}

// Otherwise what its cells declare.
static char *needs_of(const notebook *nb, size_t at)
{
    char *own = nb && at < notebook_count(nb) ? own_needs(notebook_cell(nb, at)->source) : NULL;
    if (own)
        return own;
    return mem_strdup(nb && needs_cluster(nb) ? NEEDS "a cluster, or --sandbox."
                                              : NEEDS "nothing but this machine.");
}

// The notebook's first text; returns the number of its cell.
static size_t read_text(const notebook *nb, struct offer *o)
{
    size_t i = 0;
    while (nb && i < notebook_count(nb) && notebook_cell(nb, i)->kind != CELL_MARKDOWN)
        i++;
    if (nb && i < notebook_count(nb))
        read_prose(notebook_cell(nb, i)->source, o);
    return i;
}

// The notebook's heading. A file with much output is not read for it: the list must appear at once.
static void read_notebook(struct offer *o, const struct stat *st)
{
    enum { MOST = 256 << 10 };
    notebook *nb = st->st_size <= MOST ? notebook_load(o->path, NULL) : NULL;
    read_text(nb, o);
    notebook_free(nb);
    free(o->detail);
    o->detail = NULL; // the path
    o->about = o->about ? o->about : mem_strdup("");
}

static void read_recipe(struct offer *o)
{
    notebook *nb = notebook_load(o->path, NULL);
    size_t i = read_text(nb, o);
    if (!o->detail || !strstr(o->detail, NEEDS)) {
        AUTO_FREE char *needs = needs_of(nb, i);
        char *all = str_fmt("%s%s%s", o->detail ? o->detail : "", o->detail ? " " : "", needs);
        free(o->detail);
        o->detail = all;
    }
    notebook_free(nb);
}

static void add_files(struct offers *o, enum offer_kind kind, const char *folder)
{
    DIR *d = opendir(folder);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        AUTO_FREE char *path = path_join(folder, entry->d_name);
        struct stat st;
        if (entry->d_name[0] == '.' || stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
            !is_notebook(path) || is_open(o, entry->d_name, folder))
            continue;
        struct offer *new = add(o, kind, &st);
        new->notebook = mem_strdup(entry->d_name);
        new->folder = mem_strdup(folder);
        new->path = STEAL(path);
        if (kind == OFFER_RECIPE)
            read_recipe(new);
        else
            read_notebook(new, &st);
    }
    if (d)
        closedir(d);
    sort(o);
}

void offers_notebooks(struct offers *o, const char *folder)
{
    add_files(o, OFFER_NOTEBOOK, folder);
}

char *recipes_folder(struct cli *cli)
{
    static const char *const places[] = {"../../recipes", DATADIR "/recipes", NULL};
    return cli_find(cli, places);
}

void offers_recipes(struct offers *o, struct cli *cli)
{
    AUTO_FREE char *folder = recipes_folder(cli);
    if (folder)
        add_files(o, OFFER_RECIPE, folder);
}

void offers_tour(struct offers *o, struct cli *cli)
{
    struct stat st = {0};
    AUTO_FREE char *folder = recipes_folder(cli);
    AUTO_FREE char *path = folder ? path_join(folder, "tour/tour.lua") : NULL;
    if (!path || !path_exists(path))
        return;
    struct offer *new = add(o, OFFER_TOUR, &st);
    new->notebook = mem_strdup("tour");
    new->about = mem_strdup("the workbench in ten steps, in a sandbox");
    new->detail = mem_strdup("Begins, or goes on, in a folder of its own: `firesteel tour`. " NEEDS
                             "nothing but this machine.");
    new->folder = STEAL(folder);
    sort(o);
}

void offers_blank(struct offers *o, const char *folder)
{
    struct stat st = {0};
    AUTO_FREE char *path = path_join(folder, "untitled.lua");
    for (int i = 2; path_exists(path) && i < 1000; i++) {
        AUTO_FREE char *name = str_fmt("untitled-%d.lua", i);
        free(path);
        path = path_join(folder, name);
    }
    bool follows = o->n && rank(&o->list[0]) <= 1;
    struct offer *new = add(o, OFFER_BLANK, &st);
    new->follows = follows;
    new->notebook = mem_strdup("blank notebook");
    new->about = str_fmt("%s, made by saving", strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    new->folder = mem_strdup(folder);
    new->path = STEAL(path);
    sort(o);
}

void offers_done(struct offers *o)
{
    for (size_t i = 0; i < o->n; i++) {
        free(o->list[i].path);
        free(o->list[i].notebook);
        free(o->list[i].folder);
        free(o->list[i].about);
        free(o->list[i].detail);
        free(o->list[i].age);
    }
    free(o->list);
    *o = (struct offers){0};
}

struct pick_row *offers_rows(const struct offers *o)
{
    struct pick_row *rows = mem_array(o->n + 1, sizeof *rows);
    for (size_t i = 0; i < o->n; i++) {
        const struct offer *one = &o->list[i];
        bool is_file = one->kind == OFFER_KERNEL || one->kind == OFFER_NOTEBOOK;
        rows[i] = (struct pick_row){.notebook = one->notebook,
            .state = one->kernel                 ? one->kernel->state
                     : one->kind == OFFER_RECIPE ? "recipe"
                                                 : "",
            .age = is_file ? one->age : "",
            .about = one->about ? one->about : one->folder,
            .run = one->kernel ? one->kernel->run : "",
            .detail = one->detail ? one->detail : one->path};
    }
    return rows;
}

char *recipe_find(struct cli *cli, const char *name, err *e)
{
    struct offers all = {0};
    AUTO_BUF names = {0};
    char *found = NULL;
    offers_recipes(&all, cli);
    for (size_t i = 0; i < all.n; i++) {
        buf_fmt(&names, "%s%s", i ? ", " : "", all.list[i].notebook);
        if (!found && strstr(all.list[i].notebook, name))
            found = mem_strdup(all.list[i].path);
    }
    if (!found && all.n)
        err_set(e, ERR_NOT_FOUND, "there is no recipe %s; there are: %s", name, buf_cstr(&names));
    else if (!found)
        err_set(e, ERR_NOT_FOUND, "no recipes are installed");
    offers_done(&all);
    return found;
}

int recipe_copy(const char *recipe, const char *path, err *e)
{
    AUTO_BUF text = {0};
    if (path_exists(path))
        return err_set(e, ERR_USAGE, "%s is there already; say another name", path);
    if (path_read(recipe, &text, 0, e) < 0)
        return -1;
    return path_write(path, text.data, text.len, 0644, e);
}
