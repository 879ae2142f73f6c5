// SPDX-License-Identifier: MIT
// Removes what a run has left elsewhere, as its ledger tells, with the bindings' undo; and writes
// down in its journal what is gone. The run must be over: a kernel that still has the journal keeps
// it locked.
#pragma once
#include "script/kernel/effects/ledger.h"
#include "script/kernel/session/kernel.h"

struct clean_ops {
    // All that is left, newest first. 1: remove it, 0: leave it.
    int (*left)(void *arg, struct entry *const *entries, size_t n);
    // One of them is no more: it was there and is removed, or there was nothing to remove; `text`
    // names it, or says why.
    void (*settled)(void *arg, const struct entry *entry, bool removed, const char *text);
    // One of them stays: it could not be looked at, or not be removed.
    void (*unknown)(void *arg, const struct entry *entry, const err *why);
};
// options: bindings, env, paths, cluster and cwd count. Errors: ERR_NOT_FOUND, ERR_CONFLICT (it
// runs), ERR_REFUSED when it was made in another cluster than the chosen one; then nothing more is
// looked at, nor when the server cannot be heard. What stays is told by `unknown`, and the first
// reason is the error.
int kernel_clean(const struct kernel_options *options, const char *run, const struct clean_ops *ops,
    void *arg, err *e);
