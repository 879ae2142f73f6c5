// SPDX-License-Identifier: MIT
#include "cli/workbench/tour.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/os/folder.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/ending.h"
#include "cli/places.h"
#include "cli/workbench/offers.h"
#include "script/journal/file/reader.h"
#include "script/journal/file/writer.h"
#include "script/journal/runs/runs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOTEBOOK "tour.lua"
static const char *const files[] = {NOTEBOOK, "steps.lua"};
static const char heading[] = "-- # A tour in ten steps";

static int make_folder(struct cli *cli, const char *cwd, struct tour *t, err *e)
{
    AUTO_FREE char *state = cwd ? NULL : cli_state_dir(cli, e);
    if (!cwd && !state)
        return -1;
    t->folder = cwd ? mem_strdup(cwd) : path_join(state, "tour");
    if (cwd)
        return path_make_dirs(cwd, 0777, e);
    AUTO_FD dir = folder_open_path(t->folder, 2, true, e);
    return dir < 0 ? -1 : 0;
}

// Is the file there a copy of ours, whatever a person has added to it?
static bool is_ours(const char *path)
{
    AUTO_BUF text = {0};
    return path_read(path, &text, 1 << 20, NULL) == 0 && strstr(buf_cstr(&text), heading);
}

static int end_kernel(struct cli *cli, const struct tour *t, err *e)
{
    struct kernels all;
    bool unsaved;
    int result = kernels_find(cli, &all, e);
    for (size_t i = 0; result == 0 && i < all.n; i++) {
        AUTO_FREE char *name = journal_run_notebook(all.list[i].run);
        if (str_eq(all.list[i].cwd, t->folder) && str_eq(name, "tour"))
            result = ending_stop(&all.list[i], false, &unsaved, e);
    }
    kernels_done(&all);
    return result;
}

// The folder of our own goes with all that the tour has left there; in another one only its
// notebooks are written again.
static int clear(const struct tour *t, bool own, err *e)
{
    if (own) {
        if (path_remove(t->folder, e) < 0)
            return -1;
        AUTO_FD dir = folder_open_path(t->folder, 2, true, e);
        return dir < 0 ? -1 : 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO_FREE char *path = path_join(t->folder, files[i]);
        if (path_exists(path) && path_remove(path, e) < 0)
            return -1;
    }
    return 0;
}

static int copy_files(struct cli *cli, const struct tour *t, err *e)
{
    AUTO_FREE char *recipes = recipes_folder(cli);
    AUTO_FREE char *from = recipes ? path_join(recipes, "tour") : NULL;
    if (!from)
        return err_set(e, ERR_NOT_FOUND, "the tour is not installed beside the recipes");
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO_FREE char *source = path_join(from, files[i]), *path = path_join(t->folder, files[i]);
        if (!path_exists(path) && recipe_copy(source, path, e) < 0)
            return -1;
    }
    return 0;
}

static char *last_cell(const struct tour *t)
{
    AUTO_FREE char *run = runs_pick(t->folder, NULL, t->notebook, NULL);
    AUTO_FREE char *path = run ? journal_file(t->folder, run) : NULL;
    fold *f = path ? fold_file(path, NULL, NULL) : NULL;
    const notebook *nb = f ? fold_notebook(f) : NULL;
    const char *found = NULL;
    int64_t last = 0;
    for (size_t i = 0; nb && i < notebook_count(nb); i++) {
        const struct run_cell *c = fold_cell_by_id(f, notebook_cell(nb, i)->id, NULL);
        if (c && c->count && c->ended > last) {
            last = c->ended;
            found = c->id;
        }
    }
    char *id = mem_strdup(found);
    fold_free(f);
    return id;
}

int tour_find(struct cli *cli, const char *cwd, bool anew, struct tour *t, err *e)
{
    *t = (struct tour){0};
    AUTO_FREE char *absolute = cwd ? path_absolute(cwd, e) : NULL;
    if ((cwd && !absolute) || make_folder(cli, absolute, t, e) < 0)
        return -1;
    t->notebook = path_join(t->folder, NOTEBOOK);
    if (path_exists(t->notebook) && !is_ours(t->notebook))
        return err_set(
            e, ERR_EXISTS, "%s is another notebook: the tour wants another folder", t->notebook);
    if (anew && (end_kernel(cli, t, e) < 0 || clear(t, !cwd, e) < 0))
        return -1;
    if (copy_files(cli, t, e) < 0)
        return -1;
    t->cell = last_cell(t);
    return 0;
}

void tour_done(struct tour *t)
{
    free(t->folder);
    free(t->notebook);
    free(t->cell);
    *t = (struct tour){0};
}

void tour_name_us(struct cli *cli)
{
    AUTO_FREE char *own = place_own();
    const char *path = cli_getenv(cli, "PATH");
    AUTO_FREE char *all = str_fmt("%s%s%s", own ? own : "", path ? ":" : "", path ? path : "");
    if (own)
        setenv("PATH", all, 1);
    cli->env = (const char *const *)environ;
}
