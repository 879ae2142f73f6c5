// SPDX-License-Identifier: MIT
// What the workbench tells a kernel of the person who joins it: their terminal, how long the kernel
// shall stay, and what the command line asked for.
#pragma once
#include "base/json/json.h"
#include "cli/kernels.h"

// --keep, $FIRESTEEL_KEEP, or a day, as it was written; ERR_USAGE names the option or the variable.
int joining_keep(struct cli *cli, const char **duration, int64_t *ns, err *e);
// Fields of hello (message.def), new. The lifetime is in it if it was given.
cJSON *joining_greeting(struct cli *cli, err *e);

// What was given on the command line; NULL and false where it was not. Borrowed.
struct wanted {
    char **parameters, **protect;
    const char *context, *namespace_, *kubeconfig, *registry, *memory;
    bool sandbox;
};
// The same as hello's `wants`, new; NULL when nothing was given.
cJSON *joining_wants(struct cli *cli, const struct wanted *w, err *e);
// Why a kernel is not simply joined: it has not what was asked for, or another version; new. NULL:
// nothing stands in the way.
char *joining_difference(const struct kernel *k, const cJSON *wants);
// What the last row says of the kernel that was joined. differs: as above, or NULL. New.
char *joining_words(const struct kernel *k, const char *differs);
