// SPDX-License-Identifier: MIT
// Kinds that are stored as another kind: events.k8s.io/v1 Events are core Events with other field
// names.
#pragma once
#include "k8s/sandbox/store/kind.h"

// The kind under which objects of k are stored: k itself, except for aliases.
const struct kind *alias_stored(const struct kind *k);
// A stored object in the form of k's version; new.
cJSON *alias_present(const struct kind *k, const cJSON *stored);
// An object that came in under k, in the form in which it is stored; takes json.
cJSON *alias_accept(const struct kind *k, cJSON *json);
