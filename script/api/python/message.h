// SPDX-License-Identifier: MIT
// What a kernel of Jupyter says, as outputs of the cell that is at it. On the loop's thread.
#pragma once
#include "script/api/python/session.h"

// A message of the kernel, as firesteel-jupyter passes it on.
void message_take(struct session *s, const cJSON *line);
// Ends the displays that the kernel could still change.
void message_drop(struct session *s);
