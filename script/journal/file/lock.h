// SPDX-License-Identifier: MIT
// The lock of a document that is open for editing. .firesteel/NAME.lock beside the document names
// the owner, so every folder and machine that sees the document sees the lock, too.
//   {"host", "pid", "start" (of the process, ticks since boot), "run", "cwd", "socket"}
// If the process was on this machine and is gone, the lock is stale, and the next process takes it
// over. If the document's folder cannot be written, the lock is in the working folder, and works
// only there.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct lock_holder {
    char *host, *run, *cwd, *socket; // run and socket may be NULL
    int64_t pid, start;
};

typedef struct document_lock document_lock;

// Takes the lock for this process; of `me`, run, cwd and socket are used. ERR_CONFLICT names the
// owner and the remedy.
document_lock *document_lock_take(const char *document, const struct lock_holder *me, err *e);
void document_lock_release(document_lock *l); // NULL is fine
// Is this the lock of the document (which may have another name here)?
bool document_lock_is_of(const document_lock *l, const char *document);

// Does another process have the document open? Fills *who, which the caller must end. cwd: the
// working folder in which the caller would open it.
bool document_lock_holder(const char *document, const char *cwd, struct lock_holder *who);
void lock_holder_done(struct lock_holder *who);
