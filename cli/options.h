// SPDX-License-Identifier: MIT
// Options of a verb as a table: parsed, and printed as help, from the same lines. Spelled as
// kubectl spells: --name value, --name=value, -n value, -nvalue. Values are borrowed from argv.
#pragma once
#include "cli/cli.h"

struct option {
    const char *name;  // without the dashes
    char letter;       // 0: none
    const char *value; // name of its value in the help; NULL: a switch
    const char *help;
    bool *given;       // a switch: set to true
    const char **text; // an option with a value: the last one given
    char ***list;      // or every one given, appended to a strv
};

// Parses argv[1…]; what is no option goes to *rest (a strv, to be freed). The table ends with a
// record without a name. Returns 0 to go on; otherwise the verb is over, with exit code *code (help
// was printed, or the usage was wrong).
int options_parse(struct cli *cli, const struct verb *verb, const struct option *options, int argc,
    char **argv, char ***rest, int *code);
// "--name VALUE   help" lines.
void options_help(const struct option *options, buf *out);
