// SPDX-License-Identifier: MIT
// All that the kernel can do: the bindings, and what belongs to them. The program passes them to
// the kernel, which names none of them.
#pragma once
#include "script/kernel/effects/binding.h"

// The tables of bindings in script/api, each ended by a record without a name; NULL ends them. The
// build finds them (script/tables.lua).
extern const struct binding *const all_bindings[];
// Is there such a kernel of Jupyter? -1: the reason, with what installs one.
int jupyter_find(const struct call_paths *paths, const char *cwd, const char *const *env,
    const char *kernel, bool wish, const char *language, err *e);
// Is this context protected by the kubeconfig?
bool k8s_guarded(call *c, const char *context);
extern const struct display_action k8s_actions[]; // the end has no name
// The context of a kubeconfig, {context, namespace, server}; new; NULL: there is none.
cJSON *k8s_where(call *c);
