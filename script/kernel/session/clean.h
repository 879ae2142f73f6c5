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
    void (*removed)(void *arg, const struct entry *entry);
};
// options: bindings, env, paths, cluster and cwd count. Errors: ERR_NOT_FOUND, ERR_CONFLICT (it
// runs), ERR_REFUSED when it was made in another cluster than the chosen one; then nothing more is
// removed.
int kernel_clean(const struct kernel_options *options, const char *run, const struct clean_ops *ops,
    void *arg, err *e);
