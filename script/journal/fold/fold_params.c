// SPDX-License-Identifier: MIT
// The parameters with which a run's cells ran. A headless run has those that it began with. In the
// workbench their cell may be edited: what it said when it last ran counts, not what it says now.
//   start: parameters ──> cell tagged "parameters" ──passes──> params
//                         cell "injected-parameters" ──passes──> params, only its names
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/fold/fold_private.h"
#include "script/journal/mask/mask.h"
#include "script/notebook/params.h"

#include <string.h>

enum gives { GIVES_NONE, GIVES_ALL, GIVES_SOME };

static enum gives gives(const fold *f, const char *id, const cell **found)
{
    size_t i, first;
    if (!id || !notebook_find(f->nb, id, &i))
        return GIVES_NONE;
    *found = notebook_cell(f->nb, i);
    if (cell_has_tag(*found, "injected-parameters"))
        return GIVES_SOME;
    bool tagged = cell_has_tag(*found, "parameters"); // there are few, so a linear search is enough
    return tagged && params_cell(f->nb, &first) && first == i ? GIVES_ALL : GIVES_NONE;
}

bool fold_gives_params(const fold *f, const char *id)
{
    const cell *c;
    return gives(f, id, &c) != GIVES_NONE;
}

static const cJSON *known(const fold *f)
{
    return f->params ? f->params : json_get(fold_last_start(f), "parameters");
}

// Keeps values masked that the journal has masked, even if the source still shows them.
static void keep_hidden(cJSON *values, const cJSON *before)
{
    const cJSON *value;
    cJSON_ArrayForEach(
        value, before) if (cJSON_IsString(value) && strstr(value->valuestring, MASK_TEXT))
        json_set(values, value->string, cJSON_Duplicate(value, true));
}

void fold_begin_params(fold *f, const char *id)
{
    const cell *c;
    enum gives how = gives(f, id, &c);
    cJSON_Delete(STEAL(f->said));
    if (how == GIVES_NONE)
        return;
    cJSON *said = params_said(f->nb, c), *value;
    keep_hidden(said, known(f));
    if (how == GIVES_SOME) {
        f->said = known(f) ? cJSON_Duplicate(known(f), true) : cJSON_CreateObject();
        cJSON_ArrayForEach(value, said)
            json_set(f->said, value->string, cJSON_Duplicate(value, true));
        cJSON_Delete(said);
    } else {
        f->said = said;
    }
}

void fold_take_params(fold *f, const char *id)
{
    if (!f->said || !str_eq(f->running, id))
        return;
    cJSON_Delete(f->params);
    f->params = STEAL(f->said);
}

cJSON *fold_params(const fold *f)
{
    return known(f) ? cJSON_Duplicate(known(f), true) : cJSON_CreateObject();
}
