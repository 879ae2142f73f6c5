// SPDX-License-Identifier: MIT
// Looks at files on a thread of its own, so that nobody waits for a slow disk or a large file. One
// look at a time. It may be freed while it looks: nothing is told then.
#pragma once
#include "base/json.h"
#include "base/loop/loop.h"

typedef struct looking looking;

// found: on the loop's thread, with what outside_look says; takes it.
looking *looking_new(loop *l, void (*found)(void *arg, cJSON *outside), void *arg);
void looking_free(looking *k); // NULL is fine
// Takes the list (outside_list).
void looking_start(looking *k, cJSON *list);
