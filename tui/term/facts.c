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

static bool is_known(const char *type, const struct terminfo *own)
{
    int why = 0;
    if (setupterm(type, STDOUT_FILENO, &why) == OK)
        return true;
    if (!own->folder)
        return false;
    terminfo_begin(own);
    bool known = setupterm(type, STDOUT_FILENO, &why) == OK;
    terminfo_end(own);
    return known;
}

int term_facts(const char *type, const struct terminfo *own, struct term_facts *facts, err *e)
{
    *facts = (struct term_facts){0};
    if (!type || !is_known(type, own))
        return err_set(
            e, ERR_NOT_FOUND, "terminfo does not know the terminal %s", type ? type : "");
    int colors = tigetnum("colors");
    facts->colors = tigetflag("RGB") == 1 ? 1 << 24 : colors > 0 ? colors : 0;
    facts->mouse = has("kmous");
    facts->screen = has("cup") && has("clear");
    del_curterm(cur_term);
    return 0;
}
