// SPDX-License-Identifier: MIT
// The parts of `firesteel cp` and `firesteel port-forward` in firesteel-kernel; and finding the pod
// that a verb names.
#pragma once
#include "cli/cli.h"
#include "script/api/pods/pod.h"
#include "script/kernel/session/kernel.h"

struct podverb {
    const char *copy_from, *copy_to; // one of them is in a container: "[NAMESPACE/]POD:PATH"
    const char *forward;             // "web-0", "deploy/web"
    char **ports;                    // of it: "8080:80"
    const char *address;             // to listen on; NULL: 127.0.0.1
    const char *container;           // NULL: the pod's default
};
// Each returns the exit code of the program; errors were printed.
int podverb_copy(struct cli *cli, const struct kernel_options *options, const struct podverb *what);
int podverb_forward(const struct kernel_options *options, const struct podverb *what);
// "web-0", "pod/web-0", "deploy/web". Prints to stderr which of several containers was chosen.
int podverb_find(
    client *c, const char *name, const char *container, struct pod_choice *out, err *e);
