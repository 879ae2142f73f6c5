// SPDX-License-Identifier: MIT
#include "tui/term/terminfo.h"

#include <stdlib.h>

void terminfo_begin(const struct terminfo *t)
{
    setenv("TERMINFO", t->folder, 1);
}

void terminfo_end(const struct terminfo *t)
{
    if (t->usual)
        setenv("TERMINFO", t->usual, 1);
    else
        unsetenv("TERMINFO");
}
