// SPDX-License-Identifier: MIT
#include "trainer/cpu/ops.h"

#include "base/buf.h"
#include "base/mem.h"

#include <string.h>

extern const cpu_ops cpu_avx512, cpu_avx2, cpu_plain;

static const cpu_ops *const known[] = {
#ifdef __x86_64__
    &cpu_avx512,
    &cpu_avx2,
#endif
    &cpu_plain,
};

const cpu_ops *cpu_nth(size_t i)
{
    return i < ARRAY_LEN(known) ? known[i] : NULL;
}

const cpu_ops *cpu_choose(const char *name, err *e)
{
    AUTO_BUF names = {0};
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (name ? strcmp(known[i]->name, name) == 0 : known[i]->usable()) {
            if (known[i]->usable())
                return known[i];
            err_set(e, ERR_USAGE, "this machine has no %s", name);
            return NULL;
        }
        buf_fmt(&names, "%s%s", i ? ", " : "", known[i]->name);
    }
    err_set(e, ERR_USAGE, "unknown instruction set \"%s\" (known: %s)", name, buf_cstr(&names));
    return NULL;
}
