// SPDX-License-Identifier: MIT
// Between the files of `firesteel run`: what was asked for (run.c), the run that is conducted
// (conduct.c), and rounds of --stale (runstale.c).
#pragma once
#include "base/loop/loop.h"
#include "cli/again.h"
#include "cli/cli.h"
#include "cli/print.h"
#include "cli/stale.h"
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
    notebook *checked; // the document as it was checked; NULL: it is not a file's
    fold *fold;
    printer *printer;
    loop_timer *patience;
    loop_signal *signals[3];
    int interrupts;
    bool gave_up; // since its output cannot be written
    pid_t guard, kernel;
    char *spool_dir;
    bool welcome, ended;
    struct runs_entry *entry; // of the run that has ended, for the index
    struct again *again;      // the run that it repeats; NULL: none
    int said; // what a detached kernel prints, to be told if it does not begin; -1: nothing
    err lost; // why the connection ended, if it should not have
};

struct run_options {
    const char *output, *cwd, *timeout, *resume, *context, *namespace_, *kubeconfig, *registry,
        *memory, *seed, *from, *processes;
    const struct stale *stale; // --stale: what is done; NULL: all
    char **command;            // as it was typed, secrets hidden
    char **allow, **parameters, **files, **redo, **reports, **yaml, **protect, **allow_protected;
    bool read_only, only_stale, list, help_notebook, sandbox, detach, accept_drift, no_preflight,
        no_git;
};

// What is wrong with the document or its parameters; *given: these, as NAME=VALUE.
int run_check_document(
    const notebook *nb, const char *path, const struct run_options *o, char ***given, err *e);
// Starts a kernel for the file and conducts it; returns the exit code.
int run_start(struct cli *cli, struct run_options *o, const char *file, struct run *r);
// Shows what the kernel tells until the run is over; returns the exit code.
int run_conduct(struct run *r, const struct launch *launch, err *e);
void run_close(struct run *r);
// Runs what is stale, round by round; returns the exit code.
int run_stale(struct cli *cli, struct run_options *o, const char *file, struct run *r);
