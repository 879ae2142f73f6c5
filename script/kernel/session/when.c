// SPDX-License-Identifier: MIT
#include "script/kernel/session/when.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool names_failed(const char *expression)
{
    const size_t n = strlen("failed");
    for (const char *at = expression; (at = strstr(at, "failed")); at += n)
        if ((at == expression || (!is_word(at[-1]) && at[-1] != '.')) && !is_word(at[n]))
            return true;
    return false;
}

const char *when_expression(const cell *c)
{
    const char *when = c->options.when;
    return !when || str_eq(when, "always") || str_eq(when, "failed") ? NULL : when;
}

bool when_runs(const cell *c, bool failed)
{
    const char *expression = when_expression(c);
    if (expression)
        return !failed || names_failed(expression);
    return str_eq(c->options.when, "always") || str_eq(c->options.when, "failed") == failed;
}

bool when_skipped(const cell *c)
{
    return cell_has_tag(c, "skip") || cell_has_tag(c, "skip-execution");
}
