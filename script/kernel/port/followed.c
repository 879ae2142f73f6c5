// SPDX-License-Identifier: MIT
// What trainings in branches of a cell report, for cells that decide by it which of them continue.
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/port/displays_private.h"

#include <stdio.h>
#include <string.h>

#define PROGRESS "application/vnd.firesteel.progress+json"

// A branch that is followed, with what its trainings showed last: {id of a display: data}.
struct followed {
    char *cell, *branch;
    cJSON *shown;
    int64_t version;
    struct followed *next;
};

static bool is_below(const char *branch, const char *prefix)
{
    size_t n = strlen(prefix);
    return branch && strncmp(branch, prefix, n) == 0 && (!branch[n] || branch[n] == '/');
}

void followed_note(const display *d, const cJSON *data)
{
    const cJSON *shown = json_get(data, PROGRESS);
    char id[24];
    snprintf(id, sizeof id, "%lld", (long long)d->id);
    for (struct followed *f = shown ? d->all->followed : NULL; f; f = f->next) {
        if (!str_eq(f->cell, d->cell) || !is_below(d->branch, f->branch))
            continue;
        json_set(f->shown, id, cJSON_Duplicate(shown, true));
        f->version++;
    }
}

static void free_one(struct followed *f)
{
    free(f->cell);
    free(f->branch);
    cJSON_Delete(f->shown);
    free(f);
}

static struct followed **place_of(displays *all, const char *in_cell, const char *branch)
{
    struct followed **at = &all->followed;
    while (*at && !(str_eq((*at)->cell, in_cell) && str_eq((*at)->branch, branch)))
        at = &(*at)->next;
    return at;
}

struct asked {
    displays *all;
    const char *cell, *branch;
    int64_t *version;
    cJSON *shown;
};

static void look(loop_pending *call, void *arg)
{
    struct asked *a = arg;
    struct followed **at = place_of(a->all, a->cell, a->branch);
    if (!*at) {
        *at = mem_alloc(sizeof **at);
        **at = (struct followed){.cell = mem_strdup(a->cell),
            .branch = mem_strdup(a->branch),
            .shown = cJSON_CreateObject()};
    }
    if ((*at)->version != *a->version) {
        a->shown = cJSON_Duplicate((*at)->shown, true);
        *a->version = (*at)->version;
    }
    loop_call_finish(call);
}

static void drop(loop_pending *call, void *arg)
{
    struct asked *a = arg;
    struct followed **at = place_of(a->all, a->cell, a->branch), *f = *at;
    if (f) {
        *at = f->next;
        free_one(f);
    }
    loop_call_finish(call);
}

static void do_nothing(loop_pending *call, void *arg)
{
}

static const struct loop_call_ops look_ops = {.start = look, .cancel = do_nothing};
static const struct loop_call_ops drop_ops = {.start = drop, .cancel = do_nothing};

cJSON *displays_followed(displays *all, const char *in_cell, const char *branch, int64_t *version)
{
    struct asked a = {all, in_cell, branch, version, NULL};
    loop_call(all->loop, NULL, &look_ops, &a, 0, &(err){0});
    return a.shown;
}

void displays_unfollow(displays *all, const char *in_cell, const char *branch)
{
    struct asked a = {.all = all, .cell = in_cell, .branch = branch};
    loop_call(all->loop, NULL, &drop_ops, &a, 0, &(err){0});
}

void followed_free(displays *all)
{
    for (struct followed *f = all->followed, *next; f; f = next) {
        next = f->next;
        free_one(f);
    }
}
