// SPDX-License-Identifier: MIT
// All that the kernel can do: the tables of bindings, one for each file, each ended by a record
// without a name; and what belongs to them. The program passes them to the kernel, which names none
// of them.
#pragma once
#include "script/kernel/effects/binding.h"

extern const struct binding artifact_bindings[], files_bindings[], shell_bindings[], web_bindings[],
    trainer_bindings[], image_bindings[], hvd_bindings[], hvd_k8s_bindings[], model_bindings[],
    jupyter_bindings[], k8s_bindings[], spark_bindings[], standalone_bindings[];
extern const struct binding k8s_exec_bindings[], k8s_forward_bindings[], k8s_copy_bindings[];
// Is there such a kernel of Jupyter? -1: the reason, with what installs one.
int jupyter_find(const struct call_paths *paths, const char *cwd, const char *const *env,
    const char *kernel, bool wish, const char *language, err *e);
// Is this context protected by the kubeconfig?
bool k8s_guarded(call *c, const char *context);
extern const struct display_action k8s_actions[]; // the end has no name
// The context of a kubeconfig, {context, namespace, server}; new; NULL: there is none.
cJSON *k8s_where(call *c);
