// SPDX-License-Identifier: MIT
// What an object must be to be stored: names, required values, enumerations, what may not change.
// The messages are Kubernetes's own (k8s.io/apimachinery/pkg/util/validation,
// pkg/apis/core/validation).
#pragma once
#include "k8s/sandbox/store/kind.h"

// Adds causes (status.h) for what is wrong. old is the stored object, NULL for a create.
void validate(const struct kind *k, const cJSON *json, const cJSON *old, cJSON **causes);
// What the Spark operator's webhook refuses; false with its message.
bool validate_spark(const struct kind *k, const cJSON *json, err *e);
