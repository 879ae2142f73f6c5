// SPDX-License-Identifier: MIT
// Checks the metadata that keeps an object from being removed: finalizers and owners.
#pragma once
#include "k8s/sandbox/store/kind.h"

// Adds to the causes what is wrong; old is NULL for a new object.
void metadata_check(const struct kind *k, const cJSON *json, const cJSON *old, cJSON **causes);
