// SPDX-License-Identifier: MIT
// More forms of -p than NAME=VALUE: everybody on the machine can read a command line (ps), so a
// value may also come from a file or from standard input. The caller owns the list.
#pragma once
#include "base/err.h"

// "NAME@FILE" becomes "NAME=" and the file's text, without a line break at its end; "NAME@-" reads
// standard input. Other entries stay as they are. Errors (ERR_USAGE) name the parameter and the
// file, never the value.
int parameters_read(char **list, err *e);
