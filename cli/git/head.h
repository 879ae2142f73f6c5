// SPDX-License-Identifier: MIT
// A file as git's HEAD has it, read by git on the loop: nobody waits for it. One at a time; git is
// not started outside of a repository, nor for a commit that was read already, and is ended when it
// takes long. The caller owns it.
#pragma once
#include "base/loop/loop.h"

#include <stddef.h>

typedef struct headfile headfile;

// found: when there is something new; bytes NULL: git has no such file there, or there is no git.
headfile *headfile_new(
    loop *l, void (*found)(void *arg, const char *path, const char *bytes, size_t n), void *arg);
void headfile_free(headfile *h); // NULL is fine
void headfile_read(headfile *h, const char *path);
