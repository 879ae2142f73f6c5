// SPDX-License-Identifier: MIT
#include "script/kernel/port/secrets.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

// A value with $NAME or {expr} is only known, and registered, when the cell runs.
static void register_line(mask *m, const char *line, size_t n)
{
    AUTO_FREE char *text = str_trim(line, n);
    size_t magic = strcspn(text, " \t");
    if (!(magic == 4 && str_starts(text, "%env")) && !(magic == 8 && str_starts(text, "%set_env")))
        return;
    char *name = text + magic + strspn(text + magic, " \t"), *equals = strchr(name, '=');
    if (!equals || strpbrk(equals, "{$"))
        return;
    const char *value = equals + 1 + strspn(equals + 1, " \t");
    *equals = '\0';
    mask_add_named(m, name, value);
}

void secrets_register(mask *m, const notebook *nb)
{
    for (size_t i = 0; i < notebook_count(nb); i++)
        for (const char *line = notebook_cell(nb, i)->source; *line;) {
            size_t n = strcspn(line, "\n");
            register_line(m, line, n);
            line += n + (line[n] != '\0');
        }
}
