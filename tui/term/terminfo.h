// SPDX-License-Identifier: MIT
// Our own terminfo, for hosts that do not know the terminal. Only a variable can name its folder;
// it is set for a moment, in which no child is started that could inherit it.
#pragma once

struct terminfo {
    const char *folder; // where terminals are looked for, too; NULL: nowhere
    const char *usual;  // TERMINFO; NULL: not set
};
// From now on terminals are first looked up in this folder.
void terminfo_begin(const struct terminfo *t);
// Restores the variable.
void terminfo_end(const struct terminfo *t);
