// SPDX-License-Identifier: MIT
#include "tui/term/facts.h"

#include <curses.h>
#include <term.h>
#include <unistd.h>

static bool has(const char *name)
{
    const char *s = tigetstr(name);
    return s && s != (char *)-1;
}

int term_facts(const char *type, struct term_facts *facts, err *e)
{
    int why = 0;
    *facts = (struct term_facts){0};
    if (!type || setupterm(type, STDOUT_FILENO, &why) == ERR)
        return err_set(
            e, ERR_NOT_FOUND, "terminfo does not know the terminal %s", type ? type : "");
    int colors = tigetnum("colors");
    facts->colors = tigetflag("RGB") == 1 ? 1 << 24 : colors > 0 ? colors : 0;
    facts->mouse = has("kmous");
    facts->screen = has("cup") && has("clear");
    del_curterm(cur_term);
    return 0;
}
