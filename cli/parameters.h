// SPDX-License-Identifier: MIT
// Parameters in other forms than -p NAME=VALUE. Everybody on the machine can read a command line
// (ps), so a value may also come from a file or from standard input, and many values from one file.
// The caller owns the lists.
#pragma once
#include "base/err.h"
#include "script/notebook/notebook.h"

// "NAME@FILE" becomes "NAME=" and the file's text, without a line break at its end; "NAME@-" reads
// standard input. Other entries stay as they are. Errors (ERR_USAGE) name the parameter and the
// file, never the value.
int parameters_read(char **list, err *e);
// Checks everything that is given for a notebook: files (each a mapping of names to values, in YAML
// or JSON), then mappings on the command line (-y), then the entries of -p; later ones win, as in
// papermill. *list, may be NULL, then begins with the values of files and mappings as NAME=VALUE.
// Errors (ERR_USAGE) name the file and the parameter.
int parameters_settle(
    const notebook *nb, char *const *files, char *const *yaml, char ***list, err *e);
// Prints a notebook's parameters: a table for people, or [{name, type, default, help}] as JSON.
int parameters_help(const notebook *nb, const char *path, bool json, err *e);
// "firesteel" and the words of a verb's command line, for a run's record. Values of parameters with
// a secret's name are masked, also inside lists and tables; the kernel masks the rest. New, a strv.
char **parameters_hidden(int argc, char *const *argv);
