// SPDX-License-Identifier: MIT
// The level "restricted" of Pod Security
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/). A namespace that enforces
// it refuses pods that do not say how little they need.
#pragma once
#include "base/json/json.h"

#include <stdbool.h>

#define LABEL_ENFORCED "pod-security.kubernetes.io/enforce"

// Fills in what the level asks of all pods that an object makes: in its pod templates, and in
// driver and executor of a SparkApplication. What the manifest says stays, but for the user root,
// which cannot be. Where no user is said it is 1000 (of Spark's images 185, their own), and volumes
// get its group.
void manifest_restrict(cJSON *object);
