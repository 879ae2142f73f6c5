// SPDX-License-Identifier: MIT
// The values that the API server fills in where an object has none, as Kubernetes 1.33 and the
// Spark operator's webhook do. Changes the object in place.
#pragma once
#include "k8s/sandbox/store/store.h"

// old is the stored object, NULL for a create. Free service addresses are taken from `s`.
void defaults_set(const store *s, const struct kind *k, cJSON *json, const cJSON *old);
