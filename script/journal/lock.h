// SPDX-License-Identifier: MIT
// The lock of a document that is open for editing: who has it, in .firesteel/NAME.lock beside it,
// so that it is seen from every folder and every machine that sees the document.
//
//   {"host", "pid", "start" (of the process, ticks since boot), "run", "cwd", "socket"}
//
// One whose process is gone from this machine is stale, and is taken over. Beside a document whose
// folder cannot be written it has no place: then it is in the working folder, which is one for that
// document alone.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct lock_holder {
    char *host, *run, *cwd, *socket; // run and socket may be NULL
    int64_t pid, start;
};

typedef struct document_lock document_lock;

// For this process; of `me`, run, cwd and socket are read. ERR_CONFLICT names who has it, and the
// remedy.
document_lock *document_lock_take(const char *document, const struct lock_holder *me, err *e);
void document_lock_release(document_lock *l); // NULL is fine
// Is it the lock of this document (by another name, perhaps)?
bool document_lock_is_of(const document_lock *l, const char *document);

// Who has it open, when somebody has: fills *who, which is then the caller's to end. cwd: the
// working folder that it would be opened in.
bool document_lock_holder(const char *document, const char *cwd, struct lock_holder *who);
void lock_holder_done(struct lock_holder *who);
