// SPDX-License-Identifier: MIT
// Asks git whether a working tree differs from its commit, without trusting the repository. A
// repository's settings can name programs (monitors, filters, hooks, remote helpers), so git must
// not read them. git gets a git folder of ours, with the repository's objects and index:
//    GIT_DIR                  our own: HEAD, an empty refs/, and a config that names no programs
//    GIT_OBJECT_DIRECTORY     the repository's          GIT_WORK_TREE     the working tree
//    GIT_INDEX_FILE           the working tree's        GIT_CONFIG_…      none of user or system
// It belongs to the session, on the loop's thread.
#pragma once
#include "base/json/json.h"
#include "base/loop/loop.h"
#include "base/os/git.h"

struct gitstate_spec {
    loop *loop;
    const struct git_head *head; // borrowed until the answer
    const char *const *env;      // whose PATH finds git
    const char *runtime;         // a folder of this user alone
};
// Called once with {dirty}; if dirty is true, also {files, diff}: the number of changed files and a
// digest of the changes; or with {unknown: "why"}. Takes the state.
typedef void gitstate_fn(void *arg, cJSON *state);

typedef struct gitstate gitstate;
// NULL: git cannot be asked; the function was called already.
gitstate *gitstate_ask(const struct gitstate_spec *spec, gitstate_fn *fn, void *arg);
void gitstate_free(gitstate *g); // NULL is fine; the function is not called any more
