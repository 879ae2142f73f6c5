// SPDX-License-Identifier: MIT
// The parameters of a request, checked as kube-apiserver checks them before the verb begins: one
// that nobody knows the meaning of must not be taken for another. (`dryRun=all` would create.)
#pragma once
#include "k8s/sandbox/api/request.h"

// false: it has answered with an error (400, 422). `method` is that of a verb on the resource.
bool options_check(struct request *r, const char *method);
