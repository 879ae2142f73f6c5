// SPDX-License-Identifier: MIT
// The steps between the wire and the store: an object's type and place are checked, unknown fields
// are refused, defaults are filled in, and values are validated.
#pragma once
#include "k8s/sandbox/api/request.h"

// Changes json in place. old is the stored object, NULL for a create. Returns false if it has
// answered the request with an error (400, 422).
bool admit(struct request *r, cJSON *json, const cJSON *old);
