// SPDX-License-Identifier: MIT
#include "trainer/nn/optimizer.h"

#include "base/buf.h"
#include "base/mem.h"

#include <math.h>
#include <strings.h>

static const char *const names[] = {
#define X(name, text) text,
    OPTIMIZERS(X)
#undef X
};

optimizer_spec optimizer_default(optimizer_kind kind)
{
    if (kind == OPTIMIZER_SGD)
        return (optimizer_spec){.kind = kind, .learning_rate = 0.01};
    return (optimizer_spec){
        .kind = kind, .learning_rate = 0.001, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7};
}

const char *optimizer_name(optimizer_kind kind)
{
    return names[kind];
}

int optimizer_parse(const char *name, optimizer_kind *kind, err *e)
{
    AUTO_BUF known = {0};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcasecmp(names[i], name) == 0) {
            *kind = (optimizer_kind)i;
            return 0;
        }
        buf_fmt(&known, "%s%s", i ? ", " : "", names[i]);
    }
    return err_set(e, ERR_USAGE, "unknown optimizer \"%s\" (known: %s)", name, buf_cstr(&known));
}

static int check(const char *name, double value, double least, double below, err *e)
{
    if (value >= least && value < below)
        return 0;
    return err_set(e, ERR_USAGE, "%s must be at least %g%s, not %g", name, least,
        isfinite(below) ? " and less than 1" : "", value);
}

int optimizer_check(const optimizer_spec *o, err *e)
{
    if (check("learning_rate", o->learning_rate, 0, INFINITY, e) < 0)
        return -1;
    if (o->kind == OPTIMIZER_SGD)
        return check("momentum", o->momentum, 0, 1, e);
    if (check("beta_1", o->beta_1, 0, 1, e) < 0 || check("beta_2", o->beta_2, 0, 1, e) < 0)
        return -1;
    if (o->epsilon > 0 && isfinite(o->epsilon))
        return 0;
    return err_set(e, ERR_USAGE, "epsilon must be greater than 0, not %g", o->epsilon);
}
