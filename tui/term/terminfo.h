// SPDX-License-Identifier: MIT
// Terminfo of our own, for hosts that do not know the terminal. It is looked for by a variable
// alone, which is set for a moment: no child is started meanwhile, so none inherits it.
#pragma once

struct terminfo {
    const char *folder; // where terminals are looked for, too; NULL: nowhere
    const char *usual;  // TERMINFO; NULL: not set
};
// From now on terminals are looked for in the folder first.
void terminfo_begin(const struct terminfo *t);
// As it was before.
void terminfo_end(const struct terminfo *t);
