// SPDX-License-Identifier: MIT
#include "script/kernel/cells/execution.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/effects/gate.h"
#include "script/notebook/lua/locals.h"

#include <string.h>

// Was it written without us? Then no cell of it declares effects.
static bool is_from_elsewhere(const notebook *nb)
{
    bool declares = !notebook_language(nb) || str_eq(notebook_language(nb), "lua");
    for (size_t i = 0; !declares && i < notebook_count(nb); i++)
        declares = notebook_cell(nb, i)->options.effects != NULL;
    return !declares;
}

execution *execution_new(const notebook *nb, size_t i, err *e)
{
    const cell *c = notebook_cell(nb, i);
    if (c->problem) {
        err_set(e, ERR_USAGE, "%s", c->problem);
        return NULL;
    }
    execution *x = mem_alloc(sizeof *x);
    if (plan_cell(nb, c, &x->plan, e) < 0) {
        free(x);
        return NULL;
    }
    turn_init(&x->turn, c->id, 0);
    x->untitled = !(c->title && *c->title);
    x->chunk = notebook_cell_title(nb, i);
    cell_digest(c->source, strlen(c->source), x->turn.source);
    x->turn.title = x->chunk;
    x->turn.captured = x->plan.capture && *x->plan.capture;
    x->timeout_ns = c->options.timeout_ns;
    x->retries = c->options.retries;
    x->attempt = 1;
    x->lost = x->plan.kind == PLAN_LUA ? locals_lost(nb, i) : NULL;
    x->given = !notebook_counts(nb, i);
    x->tolerant = cell_has_tag(c, "raises-exception");
    x->turn.declared = gate_declared(c->options.effects);
    x->turn.from_elsewhere = x->plan.kind == PLAN_KERNEL && is_from_elsewhere(nb);
    return x;
}

void execution_call_by_count(execution *x)
{
    if (!x->untitled)
        return;
    free(x->chunk);
    x->chunk = str_fmt("[%ld]", x->count);
    x->turn.title = x->chunk;
}

void execution_free(execution *x)
{
    if (!x)
        return;
    plan_done(&x->plan);
    turn_done(&x->turn);
    free(x->chunk);
    free(x->name);
    free(x->message);
    free(x->when);
    free(x->after);
    cJSON_Delete(x->earlier);
    cJSON_Delete(x->lost);
    cJSON_Delete(x->traceback);
    cJSON_Delete(x->used);
    cJSON_Delete(x->preflight);
    free(x);
}
