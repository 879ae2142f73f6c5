// SPDX-License-Identifier: MIT
// What the kernel can do: the tables of bindings, one a file, each ended by a record without a
// name; and what goes with them. The program hands them to the kernel, which names none.
#pragma once
#include "script/kernel/effects/binding.h"

extern const struct binding shell_bindings[], trainer_bindings[], image_bindings[], k8s_bindings[];
extern const struct display_action k8s_actions[]; // ended by one without a name
// The context that a kubeconfig says, {context, namespace, server}; new, NULL: none can be found.
cJSON *k8s_where(call *c);
