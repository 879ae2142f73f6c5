// SPDX-License-Identifier: MIT
#include "script/kernel/cells/core/pastruns.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/file/reader.h"
#include "script/journal/runs/lineage.h"
#include "script/journal/runs/runs.h"
#include "script/kernel/cells/state.h"
#include "script/kernel/cells/values/luajson.h"

#include <lauxlib.h>

// For a run that cannot be read, the reason takes the place of its state.
static void add_row(cJSON *rows, const char *folder, const char *run)
{
    err why = {0};
    cJSON *row = runs_row(folder, run, &why);
    cJSON_DeleteItemFromObjectCaseSensitive(row, "origin");
    cJSON_AddItemToArray(rows, row);
}

static cJSON *named(const char *folder, const char *own, const cJSON *names, err *e)
{
    cJSON *rows = cJSON_CreateArray();
    const cJSON *name;
    cJSON_ArrayForEach(name, names)
    {
        AUTO_FREE char *child = NULL;
        AUTO_FREE char *run =
            runs_pick_child(folder, own, cJSON_IsString(name) ? name->valuestring : "?", &child, e);
        cJSON *row = run && child ? runs_child_row(folder, run, child, e) : NULL;
        if (!run || (child && !row)) {
            cJSON_Delete(rows);
            return NULL;
        }
        if (row)
            cJSON_AddItemToArray(rows, row);
        else
            add_row(rows, folder, run);
    }
    return rows;
}

static cJSON *latest(const char *folder, lua_Integer last, err *e)
{
    char **runs = journal_list(folder, e);
    cJSON *rows = runs ? cJSON_CreateArray() : NULL;
    for (char **run = runs; run && *run && last > 0; run++) {
        AUTO_FREE char *file = journal_file(folder, *run);
        if (journal_is_written(file))
            continue;
        add_row(rows, folder, *run);
        last--;
    }
    strv_free(runs);
    return rows;
}

// lineage() → where this run's results come from, according to its journal so far.
int pastruns_own(lua_State *L)
{
    interp *in = interp_of(L);
    const effects *fx = in->options->effects;
    in->raised = (err){0};
    char *path = journal_file(fx->spec.cwd, fx->run);
    fold *f = fold_file(path, NULL, &in->raised);
    free(path);
    if (!f)
        return interp_raise(L, FAILURE_ERROR);
    cJSON *l = lineage_of(f);
    fold_free(f);
    return interp_push_json(L, l);
}

int pastruns(lua_State *L)
{
    interp *in = interp_of(L);
    const effects *fx = in->options->effects;
    const char *folder = fx->spec.cwd, *own = fx->run; // this run does not count as past
    lua_Integer last = luaL_optinteger(L, 2, 10);
    in->raised = (err){0};
    cJSON *names = lua_istable(L, 1) ? luajson_read(L, 1, &in->raised) : NULL;
    cJSON *rows = names             ? named(folder, own, names, &in->raised)
                  : in->raised.code ? NULL
                                    : latest(folder, last, &in->raised);
    cJSON_Delete(names);
    return rows ? interp_push_json(L, rows) : interp_raise(L, FAILURE_ERROR);
}
