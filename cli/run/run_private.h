// SPDX-License-Identifier: MIT
// Shared by the files of `firesteel run`: the options (run.c), the run that is conducted
// (conduct.c), and the rounds of --stale (runstale.c).
#pragma once
#include "base/loop/loop.h"
#include "cli/bar.h"
#include "cli/cli.h"
#include "cli/print/print.h"
#include "cli/run/again.h"
#include "cli/run/stale.h"
#include "script/protocol/client.h"
#include "script/protocol/launch.h"

enum form { FORM_PLAIN, FORM_JSON, FORM_JUNIT };

struct run {
    struct cli *cli;
    enum form form;
    bool detach;
    char **reports;
    loop *loop;
    client *client;
    notebook *checked; // the document as it was checked; NULL: it has no file
    fold *fold;
    printer *printer;
    bar *bar;             // of long work
    int64_t told_working; // mono ns: when such work was last printed as JSON
    loop_timer *patience;
    loop_timer *saver;
    bool saved;   // just now: reports are not saved again before `saver` ends
    bool unsaved; // a cell has begun or ended since they were saved
    loop_signal *signals[3];
    int interrupts;
    bool gave_up; // interrupted because its output cannot be written
    pid_t guard, kernel;
    char *spool_dir;
    bool welcome, ended;
    struct runs_entry *entry; // the ended run, for the index
    struct again *again;      // the run that it repeats; NULL: none
    int said;                 // a detached kernel's output, shown if it does not begin; -1: none
    err lost;                 // why the connection ended unexpectedly
};

struct run_options {
    const char *output, *cwd, *timeout, *resume, *context, *namespace_, *kubeconfig, *registry,
        *memory, *seed, *from, *processes, *kernel;
    const struct stale *stale; // --stale: the plan; NULL: runs everything
    char **command;            // the command line as typed, with secrets masked
    char **allow, **parameters, **files, **redo, **reports, **yaml, **protect, **allow_protected;
    bool read_only, allow_errors, only_stale, list, help_notebook, sandbox, detach, accept_drift,
        no_preflight, no_git;
};

// Checks the document and its parameters; *given: the parameters as NAME=VALUE.
int run_check_document(
    const notebook *nb, const char *path, const struct run_options *o, char ***given, err *e);
// Starts a kernel for the file and conducts it; returns the exit code.
int run_start(struct cli *cli, struct run_options *o, const char *file, struct run *r);
// Prints the kernel's events until the run is over; returns the exit code.
int run_conduct(struct run *r, const struct launch *launch, err *e);
void run_close(struct run *r);
// Runs what is stale, round by round; returns the exit code.
int run_stale(struct cli *cli, struct run_options *o, const char *file, struct run *r);
