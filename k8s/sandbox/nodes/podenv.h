// SPDX-License-Identifier: MIT
// The environment and command of a container, as a kubelet computes them from the pod. Pure: a
// lookup gives the objects that are referred to. Results are new and the caller's.
#pragma once
#include "base/err.h"
#include "base/json/json.h"

// Returns a borrowed object in the pod's namespace, or NULL; kind is "ConfigMap" or "Secret".
typedef const cJSON *(*podenv_lookup)(void *arg, const char *kind, const char *name);

// "NAME=value" strings: the image's own, then envFrom in order, then env, where $(NAME) refers to
// earlier entries. A later definition of a name replaces an earlier one.
// Errors: ERR_INVALID with the kubelet's text for CreateContainerConfigError, for example
// `configmap "x" not found` or `couldn't find key k in Secret default/s`.
char **podenv_build(const cJSON *pod, const cJSON *container, const char *const *image_env,
    podenv_lookup lookup, void *arg, err *e);

// The value of a name in such a list, NULL if none.
const char *podenv_get(char *const *env, const char *name);

// The arguments to run: container.command or the image's entrypoint, then container.args or, only
// without a command, the image's Cmd. Empty when neither pod nor image has a command.
char **podenv_argv(const cJSON *container, const char *const *entrypoint, const char *const *cmd,
    char *const *env);

// The value of a downward API field: metadata.name, metadata.labels['app'], spec.nodeName,
// status.podIP…. NULL with ERR_INVALID for other fields.
char *podenv_field(const cJSON *pod, const char *path, err *e);
