// SPDX-License-Identifier: MIT
// What is wrong with an object, and how much: for tables that show the worst first. Plain functions
// on trees.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

#include <stdbool.h>
#include <stdint.h>

// From nothing to the worst. Only the order counts; tables carry the number (doc/displays.md).
enum sickness {
    SICK_NOT,
    SICK_RESTARTED, // within the last ten minutes
    SICK_FAILED,    // ended badly: nothing runs that could be helped
    SICK_NOT_READY,
    SICK_PENDING, // no node takes it
    SICK_IMAGE,   // its image or configuration is not to be had
    SICK_CRASHING,
};
// Appends to `why` (may be NULL) the reason in a line: "exit 137 OOMKilled", "0/3 nodes are
// available: …". Events that warn are SICK_FAILED.
enum sickness object_sick(const cJSON *object, int64_t now_wall, buf *why);
// From the words in a table's columns READY ("1/2") and STATUS, for want of the object; "": there
// is no such column.
enum sickness words_sick(const char *kind, const char *ready, const char *status);
// Was a restart so lately that it counts?
bool sick_recently(int64_t at_wall, int64_t now_wall);
// Of a `terminated` state: "exit 137 OOMKilled", "signal 9".
void container_end(const cJSON *ended, buf *out);
