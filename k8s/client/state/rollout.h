// SPDX-License-Identifier: MIT
// How far a Deployment, StatefulSet or DaemonSet has come with its newest spec: kubectl's rules
// (k8s.io/kubectl/pkg/polymorphichelpers/rollout_status.go). Plain functions on trees.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

enum rollout {
    ROLLOUT_NONE, // of this kind nothing is rolled out
    ROLLOUT_GOES_ON,
    ROLLOUT_DONE,
    ROLLOUT_STUCK, // a Deployment's progress deadline has passed
};
// Appends to `words` (may be NULL) what it waits for: "1 of 3 new replicas have been updated".
enum rollout rollout_of(const cJSON *object, buf *words);
// The message of a rollout that is stuck, borrowed; NULL.
const char *rollout_cause(const cJSON *object);
