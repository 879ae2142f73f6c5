// SPDX-License-Identifier: MIT
#include "cli/host.h"

#include "base/mem.h"
#include "base/str.h"
#include "cli/places.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN "C.UTF-8"

const char *host_locale_named(const struct cli *cli)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *named = NULL;
    for (size_t i = 0; i < ARRAY_LEN(names) && !named; i++)
        named = cli_getenv(cli, names[i]);
    return named;
}

// The C library looks for locales where a variable says; it is set for this moment alone, so that
// no child inherits it.
static bool take_ours(void)
{
    AUTO_FREE char *ours = place_beside_loader("locale"), *before = NULL;
    if (!ours)
        return false;
    if (getenv("LOCPATH"))
        before = mem_strdup(getenv("LOCPATH"));
    setenv("LOCPATH", ours, 1);
    bool taken = setlocale(LC_CTYPE, PLAIN);
    if (before)
        setenv("LOCPATH", before, 1);
    else
        unsetenv("LOCPATH");
    return taken;
}

const char *host_locale(const struct cli *cli)
{
    const char *named = host_locale_named(cli);
    if (setlocale(LC_CTYPE, "") || !named ||
        (!strcasestr(named, "utf-8") && !strcasestr(named, "utf8")))
        return NULL;
    return setlocale(LC_CTYPE, PLAIN) || take_ours() ? PLAIN : NULL;
}
