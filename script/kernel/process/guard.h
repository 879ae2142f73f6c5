// SPDX-License-Identifier: MIT
// The guard: a process between a kernel's starter and the kernel. It makes sure that no process of
// the kernel is left when the kernel ends, in whatever way. It is forked before there are threads
// and owns nothing.
//
//   starter ── guard (subreaper, waits) ── kernel ── children ── … ── one that called setsid
//
// An orphan becomes the guard's child, so killing its children until there are none reaches all of
// them.
#pragma once
#include "base/err.h"

enum {
    GUARD_RESTART = 75, // with this exit code a kernel asks for a new one
    GUARD_NOTE_MAX = 4096,
};

// What the guard calls when no process of the kernel is left, however the kernel ended.
struct guard_end {
    void (*left)(const char *journal); // after each kernel that has registered its journal; or
                                       // NULL
    void (*meanwhile)(void *arg);      // in a child of the guard, some time after guard_went_on; a
                                       // tenth of the time at most goes into it; or NULL
    int (*fn)(void *arg, int exit_code); // after the last one; NULL: nothing
    void *arg;
};

// Forks. Returns 0 in the kernel, and again in each new kernel after a restart. `note` is the text
// that the last kernel left with guard_leave_note, "" for the first. In the guard it does not
// return: the guard exits with the kernel's code (128 + n for signal n) when no process of the
// kernel is left. If some cannot be killed (another user's, through a set-user-ID program), it
// names them and exits after a few seconds. It passes on INT, TERM and HUP; after such a signal it
// starts no new kernel. Descriptors that are open now stay open in the guard, for a kernel after a
// restart. Before it exits, it calls `end->fn` with that code; the result is the code to exit with.
int guard_start(const char **note, const struct guard_end *end, err *e);
// From the kernel: its journal has more to report.
void guard_went_on(void);
// From the kernel: leaves a text for the next kernel.
void guard_leave_note(const char *text);
// From the kernel: the journal that it writes.
void guard_name_journal(const char *path);
// From the kernel: registers a socket or a temporary folder, which the guard removes if the kernel
// ends without doing so. At most 256 at a time; more are ignored.
void guard_remove_at_end(const char *path);
// From the kernel, when it has removed one of them: the guard then leaves anything alone that gets
// this name later. Its owner's file (base/os/owner.h) is removed from the list, too. If the path
// still exists, it stays registered.
void guard_removed(const char *path);
