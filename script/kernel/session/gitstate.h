// SPDX-License-Identifier: MIT
// Asks git whether a working tree differs from its commit, without trusting the repository: its
// settings can name programs (monitors, filters, hooks, remote helpers), so git does not see them.
// It gets a git folder of ours, with the repository's objects and index:
//
//   GIT_DIR                  our own: HEAD, an empty refs/, and a config that names nothing
//   GIT_OBJECT_DIRECTORY     the repository's          GIT_WORK_TREE     the working tree
//   GIT_INDEX_FILE           the working tree's        GIT_CONFIG_…      none of user or system
//
// It belongs to the session, on the loop's thread.
#pragma once
#include "base/git.h"
#include "base/json.h"
#include "base/loop/loop.h"

struct gitstate_spec {
    loop *loop;
    const struct git_head *head; // borrowed until the answer
    const char *const *env;      // where PATH is looked for
    const char *runtime;         // a folder of this user alone
};
// Called once: {dirty}, when it is: and {files, diff}, their number and the digest of the changes;
// or {unknown: "why"}. Takes the state.
typedef void gitstate_fn(void *arg, cJSON *state);

typedef struct gitstate gitstate;
// NULL: it was answered already, since git cannot be asked.
gitstate *gitstate_ask(const struct gitstate_spec *spec, gitstate_fn *fn, void *arg);
void gitstate_free(gitstate *g); // NULL is fine; without an answer if there was none
