// SPDX-License-Identifier: MIT
// The guard: a process between a kernel's starter and the kernel, which sees to it that nothing of
// the kernel is left when it ends, however it ends. It is forked before there are threads and owns
// nothing.
//
//   starter ── guard (subreaper, waits) ── kernel ── children ── … ── one that called setsid
//
// An orphan becomes the guard's child, so "kill my children until there is none" reaches them all.
#pragma once
#include "base/err.h"

enum {
    GUARD_RESTART = 75, // a kernel exits with this for a new one with the same arguments
    GUARD_NOTE_MAX = 4096,
};

// Forks. Returns 0 in the kernel, in every new one after a restart again; `note` is what the kernel
// before it left with guard_leave_note, "" for the first. The guard itself does not return: it
// exits with the kernel's code (128 + n for signal n) when no process of it is left, or when what
// is left cannot be ended (another user's, by a set-user-ID program): it names those and leaves
// after a few seconds. It passes on INT, TERM and HUP. Descriptors that are open now stay open in
// the guard, for a kernel after a restart.
int guard_start(const char **note, err *e);
// From the kernel: what the next one is to find.
void guard_leave_note(const char *text);
// From the kernel: a socket or a temporary folder that the guard removes when the kernel has ended
// without doing so. A few at most.
void guard_remove_at_end(const char *path);
