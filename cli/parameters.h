// SPDX-License-Identifier: MIT
// -p, beyond NAME=VALUE: what is typed on a command line is for everybody on the machine to read
// (ps), so a value may also come from a file or from standard input. The list is the caller's.
#pragma once
#include "base/err.h"

// "NAME@FILE" becomes "NAME=" and the file's text, without a line break at its end; "NAME@-" reads
// standard input. Others stay as they are. Errors (ERR_USAGE) name the parameter and the file,
// never the value.
int parameters_read(char **list, err *e);
