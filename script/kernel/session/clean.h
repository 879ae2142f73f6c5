// SPDX-License-Identifier: MIT
// Removes what a run has left in clusters and elsewhere, using its ledger and the bindings' undo,
// and records that in its journal. The run must be over: a running kernel keeps the journal locked.
#pragma once
#include "script/kernel/effects/ledger.h"
#include "script/kernel/session/kernel.h"

struct clean_ops {
    // Called with everything that is left, newest first. Returns 1: remove it, 0: leave it.
    int (*left)(void *arg, struct entry *const *entries, size_t n);
    // One entry is settled: it was removed, or there was nothing to remove; `text` names it, or
    // says why.
    void (*settled)(void *arg, const struct entry *entry, bool removed, const char *text);
    // One entry stays: it could not be looked up, or could not be removed.
    void (*unknown)(void *arg, const struct entry *entry, const err *why);
};
// Of the options, it uses bindings, env, paths, cluster and cwd. Errors: ERR_NOT_FOUND,
// ERR_CONFLICT (the run is not over), ERR_REFUSED (the run used another cluster than the chosen
// one). After ERR_REFUSED, or when the server cannot be reached, it stops looking at entries.
// `unknown` reports what stays; the first reason becomes the error.
int kernel_clean(const struct kernel_options *options, const char *run, const struct clean_ops *ops,
    void *arg, err *e);
