// SPDX-License-Identifier: MIT
#include "trainer/nn/loss.h"

#include "base/buf.h"
#include "base/mem.h"

#include <string.h>

static const char *const names[] = {
#define X(name, text) text,
    LOSSES(X)
#undef X
};

const char *loss_name(loss_kind kind)
{
    return names[kind];
}

int loss_parse(const char *name, loss_kind *kind, err *e)
{
    AUTO_BUF known = {0};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        bool is_short = i == LOSS_MEAN_SQUARED_ERROR && strcmp(name, "mse") == 0;
        if (strcmp(names[i], name) == 0 || is_short) {
            *kind = (loss_kind)i;
            return 0;
        }
        buf_fmt(&known, "%s%s", i ? ", " : "", names[i]);
    }
    return err_set(e, ERR_USAGE, "unknown loss \"%s\" (known: %s)", name, buf_cstr(&known));
}
