// SPDX-License-Identifier: MIT
#include "trainer/nn/loss.h"

#include "base/buf.h"
#include "base/mem.h"

#include <string.h>

static const struct {
    const char *name, *alias;
} losses[] = {
#define X(name, text, alias) {text, alias},
    LOSSES(X)
#undef X
};

const char *loss_name(loss_kind kind)
{
    return losses[kind].name;
}

int loss_parse(const char *name, loss_kind *kind, err *e)
{
    AUTO_BUF known = {0};
    for (size_t i = 0; i < ARRAY_LEN(losses); i++) {
        if (strcmp(losses[i].name, name) == 0 || (*name && strcmp(losses[i].alias, name) == 0)) {
            *kind = (loss_kind)i;
            return 0;
        }
        const char *alias = losses[i].alias;
        buf_fmt(&known, "%s%s%s%s%s", i ? ", " : "", losses[i].name, *alias ? " (" : "", alias,
            *alias ? ")" : "");
    }
    return err_set(e, ERR_USAGE, "unknown loss \"%s\" (known: %s)", name, buf_cstr(&known));
}
