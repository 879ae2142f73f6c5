// SPDX-License-Identifier: MIT
// Tells clients what the server serves: /api, /apis, /version, in the plain and aggregated forms.
#pragma once
#include "k8s/sandbox/api/request.h"

// Answers if the path is one of these and returns true; else returns false.
bool discovery_serve(struct request *r, char *const *path);
