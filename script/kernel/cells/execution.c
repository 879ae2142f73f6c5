// SPDX-License-Identifier: MIT
#include "script/kernel/cells/execution.h"

#include "base/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/effects/gate.h"

#include <string.h>

static const struct {
    const char *name;
    int exit;
} failures[] = {
#define X(name, text, exit) {text, exit},
    FAILURES(X)
#undef X
};

const char *failure_name(enum failure f)
{
    return failures[f].name;
}

int failure_exit(enum failure f)
{
    return failures[f].exit;
}

execution *execution_new(const notebook *nb, size_t i, err *e)
{
    const cell *c = notebook_cell(nb, i);
    if (c->problem) {
        err_set(e, ERR_USAGE, "%s", c->problem);
        return NULL;
    }
    execution *x = mem_alloc(sizeof *x);
    if (plan_cell(c, &x->plan, e) < 0) {
        free(x);
        return NULL;
    }
    x->cell = mem_strdup(c->id);
    x->chunk = c->title && *c->title ? mem_strdup(c->title) : str_fmt("cell %zu", i + 1);
    sha256_hex(c->source, strlen(c->source), x->hash);
    x->timeout_ns = c->options.timeout_ns;
    x->declared = gate_declared(c->options.effects);
    return x;
}

void execution_free(execution *x)
{
    if (!x)
        return;
    plan_done(&x->plan);
    free(x->cell);
    free(x->chunk);
    free(x->message);
    cJSON_Delete(x->traceback);
    free(x);
}
