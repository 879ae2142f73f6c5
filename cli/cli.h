// SPDX-License-Identifier: MIT
// Shared by the verbs of the command line: environment, folders, and error messages. cli/ is the
// only place that prints, exits and reads the environment; it passes settings down as values.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli {
    const char *const *env; // the environment
    char *cwd;              // the folder in which we were started
    bool out_tty, err_tty;  // is it a terminal?
    bool colour;            // may stdout have colours? (terminal, no NO_COLOR, TERM not dumb)
    bool utf8;              // can stdout show more than ASCII?
    const char *locale;     // the locale used in place of the environment's; NULL: none
    char *terminfo;         // a folder of terminfo entries that the host may lack; NULL: none
    bool linear;            // the workbench as lines, for screen readers
    bool no_mouse;          // for the workbench: the terminal keeps the mouse
    bool no_ask;            // it does not ask before something ends or is lost
    bool read_only;         // it changes nothing: no cluster, no run
    const char *notify;     // how it notifies a person who looks elsewhere; NULL: as
                            // FIRESTEEL_NOTIFY says
    const char *keep;       // how long an unused kernel lives; NULL: as FIRESTEEL_KEEP says, a day
    int width;              // columns of the terminal, 80 without one
};

// A verb is one file that ends with such a record. run gets the arguments after the verb (argv[0]
// is the verb) and returns the exit code; on wrong usage it returns cli_usage(…).
struct verb {
    const char *name;
    const char *summary; // one line, lower case, no full stop
    const char *usage;   // the text after "firesteel NAME", then one line for each option
    int (*run)(struct cli *cli, int argc, char **argv);
    bool takes_runs; // its arguments name runs: "-2" is one of them, and no option
};

extern const struct verb diff_verb, lineage_verb, run_verb, runs_verb, show_verb, export_verb,
    ls_verb, stop_verb, sandbox_verb, tour_verb, bundle_verb, check_verb, clean_verb, attach_verb,
    convert_verb, prune_verb, doctor_verb, wait_verb, open_verb, new_verb, step_verb, exec_verb,
    cp_verb, view_verb, port_forward_verb, jupyter_verb, kernelspec_verb, vars_verb;

// Prints "firesteel: TEXT" to stderr, coloured if allowed; returns the exit code of the error.
int cli_error(struct cli *cli, const err *e);
// The same with a hint at "--help"; returns 2.
int cli_usage(struct cli *cli, const struct verb *verb, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
const char *cli_getenv(const struct cli *cli, const char *name); // NULL when unset or empty

// The path of one of our programs ("firesteel-kernel"): beside this executable, else in libexec.
// New.
char *cli_program(struct cli *cli, const char *name, err *e);
// Becomes firesteel-kernel with these arguments (a strv, taken). Returns an exit code on an error.
int cli_become_kernel(struct cli *cli, char **arguments);
// The first of these paths that exists. Relative paths start at the folder of our own executable,
// as in a build folder; names without a slash are looked for in PATH. New; NULL: none.
char *cli_find(struct cli *cli, const char *const *places);
// Where data sets are found, besides the working folder: $FIRESTEEL_DATA, else the installed ones;
// new, NULL: neither.
char *cli_data_dir(struct cli *cli);
// The run-time folder, new: for sockets and other files that live as long as a process:
// $FIRESTEEL_RUNTIME_DIR, else /tmp/firesteel-UID (which outlives a login, as a detached run does);
// 0700, owner checked. ERR_USAGE: the path is too long for sockets.
char *cli_runtime_dir(struct cli *cli, err *e);
// The path of a run's kernel's socket there, new. Its name may be shorter than the run's: kernels
// are found by asking every socket of the folder.
char *cli_socket(const char *runtime, const char *run);
// A name for a new run of a notebook in this folder, and its socket's path, both new. Names have a
// second and four random digits: two running runs never share one.
char *cli_new_run(const char *runtime, const char *folder, const char *name, char **socket);
// Removes what killed processes have left there. Takes some microseconds if there is nothing.
void cli_sweep(struct cli *cli);
char *cli_images_dir(struct cli *cli, err *e); // $XDG_DATA_HOME/firesteel/images
char *cli_state_dir(struct cli *cli, err *e);  // $XDG_STATE_HOME/firesteel
char *cli_config_dir(struct cli *cli, err *e); // $XDG_CONFIG_HOME/firesteel
// The working folder of a notebook: `cwd` (--cwd) if given, and made if needed; else the notebook's
// folder; or, if that cannot be written, a folder of its own below the state folder (*moved). New.
char *cli_work_folder(struct cli *cli, const char *cwd, const char *file, bool *moved, err *e);
// The folder in which a verb looks for runs, new:
// - `cwd` (--cwd), if it is given;
// - else this folder. But if it has no run of the notebook that `word` names (NULL: none), it is
//   the folder of the notebook's file, or the folder that replaces that one;
// - or, if this folder cannot be written and has no runs, it is the folder that cli_work_folder has
//   made for its notebook. Standard error says so, and names them if there are several.
char *cli_runs_folder(struct cli *cli, const char *cwd, const char *word);
// "512M", "4G": bytes.
int cli_size(const char *text, size_t *size, err *e);
// The most memory, in bytes, of all unused kernels together: $FIRESTEEL_KEPT_MEMORY, or a quarter
// of the memory of this machine or control group.
int64_t cli_kept_memory(struct cli *cli);
// Makes the files of a $KUBECONFIG absolute: relative ones start at the folder `here`, also if the
// notebook works in another one. Links are not resolved: files that a kubeconfig names are beside
// the link. New.
char *cli_kubeconfig_list(const char *list, const char *here);
// The files where kubectl finds its cluster: those of $KUBECONFIG, else ~/.kube/config. New; NULL:
// there are none.
char *cli_kubeconfig(struct cli *cli, const char *here);
// A notebook's name without folder and extension; "" for NULL. New.
char *cli_notebook_name(const char *file);
