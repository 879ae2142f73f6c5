// SPDX-License-Identifier: MIT
// All watches that clients hold open: each is a cursor into the store's history, woken by changes
// of its kind, with a queue of one piece of text, so a slow reader costs no memory.
#pragma once
#include "base/loop/loop.h"
#include "k8s/sandbox/store/store.h"

struct watches *watches_new(loop *l, store *s);
void watches_free(struct watches *w);
