// SPDX-License-Identifier: MIT
// Makes the store's snapshots (see store.h). They are counted; the last unref frees.
#pragma once
#include "k8s/sandbox/store/store.h"

// Takes json, which must have its namespace, name and uid; writes the version into it. Returns one
// reference.
snapshot *snapshot_new(const struct kind *k, cJSON *json, int64_t version);
bool snapshot_is_owned_by(const snapshot *s, const char *uid);
uint64_t snapshot_owner_bit(const char *uid);
