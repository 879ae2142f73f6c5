// SPDX-License-Identifier: MIT
// The rules for objects in the store: names, required values, enumerations, fields that may not
// change. The messages are Kubernetes's own (k8s.io/apimachinery/pkg/util/validation,
// pkg/apis/core/validation).
#pragma once
#include "k8s/sandbox/store/kind.h"

// Adds a cause (status.h) for each fault. old is the stored object, NULL for a create.
void validate(const struct kind *k, const cJSON *json, const cJSON *old, cJSON **causes);
// Checks what the Spark operator's webhook refuses; false with its message.
bool validate_spark(const struct kind *k, const cJSON *json, err *e);
