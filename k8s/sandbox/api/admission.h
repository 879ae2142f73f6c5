// SPDX-License-Identifier: MIT
// What happens to an object between the wire and the store: its type and place are checked, unknown
// fields refused, defaults filled in, and its values validated.
#pragma once
#include "k8s/sandbox/api/request.h"

// Changes json in place; old is the stored object, NULL for a create. false after an answer (400,
// 422).
bool admit(struct request *r, cJSON *json, const cJSON *old);
