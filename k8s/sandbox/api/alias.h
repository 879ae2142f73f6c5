// SPDX-License-Identifier: MIT
// Kinds that are kept as another: events.k8s.io/v1 Events are core ones with other field names.
#pragma once
#include "k8s/sandbox/store/kind.h"

// The kind under which objects of k are stored: itself but for aliases.
const struct kind *alias_stored(const struct kind *k);
// A stored object as it looks under the version of k; new.
cJSON *alias_present(const struct kind *k, const cJSON *stored);
// What came in under k, as it is stored; takes json.
cJSON *alias_accept(const struct kind *k, cJSON *json);
