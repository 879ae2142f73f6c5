// SPDX-License-Identifier: MIT
// What the verbs of the command line share: who we are, where things are, how to print. cli/ is the
// only place that prints, exits and reads the environment; it passes what it finds down as values.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct cli {
    const char *const *env; // the environment
    char *cwd;              // the folder we were started in
    bool out_tty, err_tty;  // is it a terminal?
    bool colour;            // may stdout have colours? (a terminal, no NO_COLOR, TERM not dumb)
    bool utf8;              // may stdout have more than ASCII?
    int width;              // columns of the terminal, 80 where there is none
};

// A verb is one file that ends in a record of this. run gets the arguments after the verb (argv[0]
// is the verb) and returns the exit code; on wrong usage it returns cli_usage(…).
struct verb {
    const char *name;
    const char *summary; // one line, lower case, no full stop
    const char *usage;   // what follows "firesteel NAME", and one line an option below
    int (*run)(struct cli *cli, int argc, char **argv);
};

extern const struct verb run_verb, runs_verb, show_verb, export_verb, ls_verb, stop_verb,
    sandbox_verb, check_verb, clean_verb, attach_verb, wait_verb, open_verb, new_verb;

// "firesteel: TEXT" on stderr, coloured where that is right; returns the exit code of the error.
int cli_error(struct cli *cli, const err *e);
// The same with a hint at "--help"; returns 2.
int cli_usage(struct cli *cli, const struct verb *verb, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
const char *cli_getenv(const struct cli *cli, const char *name); // NULL when unset or empty

// A program of ours ("firesteel-kernel"): beside our own executable, else in libexec. New.
char *cli_program(struct cli *cli, const char *name, err *e);
// Becomes firesteel-kernel with these arguments (a strv, taken). Returns an exit code when it
// cannot.
int cli_become_kernel(struct cli *cli, char **arguments);
// The first of these places that exists: relative ones are below our own executable's folder, as in
// a build folder; those without a slash are looked for in PATH. New; NULL: none.
char *cli_find(struct cli *cli, const char *const *places);
// Where data sets are looked for, beside the working folder: $FIRESTEEL_DATA, else those installed;
// new, NULL: neither.
char *cli_data_dir(struct cli *cli);
// The rules of design.md's "Where". All new.
// Sockets and what else lives as long as a process: $FIRESTEEL_RUNTIME_DIR, else /tmp/firesteel-UID
// (which outlives a login, as a detached run does); 0700, owner checked.
char *cli_runtime_dir(struct cli *cli, err *e);
// Removes what killed processes have left there. Costs some microseconds when that is nothing.
void cli_sweep(struct cli *cli);
char *cli_images_dir(struct cli *cli, err *e); // $XDG_DATA_HOME/firesteel/images
char *cli_state_dir(struct cli *cli, err *e);  // $XDG_STATE_HOME/firesteel
// Where a notebook works: `cwd` (--cwd) when given, made if need be; else the notebook's folder;
// else, when nothing can be written there, a folder of its own below the state folder (*moved).
// New.
char *cli_work_folder(struct cli *cli, const char *cwd, const char *notebook, bool *moved, err *e);
// A notebook's name without folder and extension; "" for NULL. New.
char *cli_notebook_name(const char *notebook);
