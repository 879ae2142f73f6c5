// SPDX-License-Identifier: MIT
// Checks a request's parameters, as kube-apiserver does, before the verb begins: a misspelled
// parameter must not be ignored. (`dryRun=all` would create the object.)
#pragma once
#include "k8s/sandbox/api/request.h"

// Returns false if it has answered with an error (400, 422). `method` is the HTTP method.
bool options_check(struct request *r, const char *method);
