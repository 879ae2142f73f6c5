// SPDX-License-Identifier: MIT
// The options of a verb as a table, which is used to parse them and to print the help. They are
// spelled as in kubectl: --name value, --name=value, -n value, -nvalue. Values are borrowed from
// argv.
#pragma once
#include "cli/cli.h"

struct option {
    const char *name;  // without the dashes
    char letter;       // 0: none
    const char *value; // the value's name in the help; NULL: a switch
    const char *help;
    const char *word;  // a switch may say =WORD, which goes to *text; NULL: it may not
    bool *given;       // for a switch: set to true
    const char **text; // for an option with a value: set to the last one given
    char ***list;      // or: every one given is appended to this strv
};

// Parses argv[1…]; arguments that are no options go to *rest (a strv, to be freed). The table ends
// with a record without a name. Returns 0 to go on; otherwise the verb must end with exit code
// *code (help was printed, or the usage was wrong).
int options_parse(struct cli *cli, const struct verb *verb, const struct option *options, int argc,
    char **argv, char ***rest, int *code);
