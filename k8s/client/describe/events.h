// SPDX-License-Identifier: MIT
// Sorts events by the time at which they happened. Plain functions on trees.
#pragma once
#include "base/json/json.h"

#include <stdint.h>

// When an event was last seen, wall ns; 0: unknown.
int64_t event_time(const cJSON *event);
// The same as the event has it, RFC 3339, borrowed; NULL.
const char *event_stamp(const cJSON *event);
// The items of an EventList, oldest first; takes the list.
cJSON *events_sorted(cJSON *list);
