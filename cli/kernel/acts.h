// SPDX-License-Identifier: MIT
// What a person does in a cluster with a verb, outside of any run (exec, cp, port-forward): the
// gate, and the ledger, a file of the person's, with a synced line before the act and one after it.
//   {"time", "id", "verb", "effect", "what", "context", "namespace", "pod", "container"}
//   {"time", "id", "code", "error"}
#pragma once
#include "k8s/client/connect/kubeconfig.h"
#include "script/api/pods/pod.h"
#include "script/journal/mask/mask.h"
#include "script/kernel/session/kernel.h"

// A plain value, set to its verb, its effect and its error; act_done frees what the calls below put
// there, and masks the secrets in the error, since servers repeat what they were sent.
struct act {
    const char *verb;   // "exec"
    const char *effect; // "cluster"; "local": it changes nothing in the cluster
    err *error;         // the caller's, who prints it after act_done
    char id[17];
    char *folder; // of the ledger
    mask *mask;   // masks secrets in the lines of the ledger and in the error
};
void act_done(struct act *a);
// Registers the secrets of the environment and of a command's words ("NAME=VALUE"; NULL: none).
// Call it before the others.
void act_mask(struct act *a, const struct kernel_options *options, char *const *words);
// May it be done? In a protected context a person is asked, on a terminal; without one,
// --allow-protected must name the context. where: "exec in web-0". Errors: ERR_REFUSED.
int act_allow(const struct act *a, const struct kernel_options *options, const kubeconfig *k,
    const char *where, err *e);
// Records the act before it is done. what: "run `ls` in". If it cannot be recorded, it must not be
// done.
int act_begin(struct act *a, const struct kernel_options *options, const struct pod_choice *p,
    const char *what, err *e);
// Records how it ended: the exit code, or why it failed (code ERR_NONE: it did not).
void act_end(const struct act *a, int code, const err *e);
