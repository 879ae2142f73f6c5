// SPDX-License-Identifier: MIT
// Reports when a file is written or replaced, without polling (inotify on its folder).
#pragma once
#include "base/loop/loop.h"

struct filewatch;
// changed(arg) is called after each change. NULL if the system cannot do this; then changes are
// found on saving.
struct filewatch *filewatch_open(loop *l, const char *path, void (*changed)(void *arg), void *arg);
void filewatch_close(struct filewatch *w); // NULL is fine
