// SPDX-License-Identifier: MIT
// The steps between request and store: check the object's type and place, refuse unknown fields,
// fill in defaults, validate the values.
#pragma once
#include "k8s/sandbox/api/request.h"

// Changes json in place. old is the stored object, NULL for a create. Returns false if it has
// answered the request with an error (400, 422).
bool admit(struct request *r, cJSON *json, const cJSON *old);
