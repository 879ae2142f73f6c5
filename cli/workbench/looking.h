// SPDX-License-Identifier: MIT
// Checks files on a thread of its own, so that nobody waits for a slow disk or a large file. One
// check at a time. It may be freed during a check; found is not called then.
#pragma once
#include "base/json/json.h"
#include "base/loop/loop.h"

typedef struct looking looking;

// found: called on the loop's thread with outside_look's result; takes it.
looking *looking_new(loop *l, void (*found)(void *arg, cJSON *outside), void *arg);
void looking_free(looking *k); // NULL is fine
// Takes the list (outside_list).
void looking_start(looking *k, cJSON *list);
