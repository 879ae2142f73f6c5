// SPDX-License-Identifier: MIT
// How the store makes snapshots (store.h says what they are). Counted; the last unref frees.
#pragma once
#include "k8s/sandbox/store/store.h"

// Takes json, which has its namespace, name and uid; writes the version into it. One reference.
snapshot *snapshot_new(const struct kind *k, cJSON *json, int64_t version);
bool snapshot_is_owned_by(const snapshot *s, const char *uid);
uint64_t snapshot_owner_bit(const char *uid);
