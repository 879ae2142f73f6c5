// SPDX-License-Identifier: MIT
// What the server serves, told to clients: /api, /apis, /version, in the plain and aggregated
// forms.
#pragma once
#include "k8s/sandbox/api/request.h"

// Answers if the path is one of discovery's; false if it is not.
bool discovery_serve(struct request *r, char *const *path);
