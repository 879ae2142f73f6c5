// SPDX-License-Identifier: MIT
// A rank's side: over a descriptor that it inherits, it receives its place and its function, and
// sends its messages. Whoever opened the link owns it; any thread may call rank_send.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "trainer/dist/message.h"
#include "trainer/dist/place.h"
#include "trainer/dist/shared.h"

typedef struct rank_link rank_link;

// Takes the descriptor and reports that this rank runs. From now on the SIGTERM that follows the
// starter's end kills the whole process group.
rank_link *rank_open(int fd, err *e);
// The memory that it shares with the other ranks, if its place says so; the link owns it.
shared *rank_shared(const rank_link *l);
// Waits for the place and the function. The link keeps the function's bytes.
int rank_job(rank_link *l, struct place *place, const void **function, size_t *n, err *e);
// From now on this process ends at once when the driver says so or is gone.
int rank_watch(rank_link *l, err *e);
// The last commit of an elastic job, which only its first rank gets; n 0: none.
void rank_last_commit(const rank_link *l, const void **bytes, size_t *n);
// Sends a commit to the driver, and returns when the driver has it. Call it on the job's thread.
// newcomers: more ranks could join now.
int rank_commit(rank_link *l, const void *bytes, size_t n, bool *newcomers, err *e);
int rank_send(rank_link *l, message_kind kind, const void *body, size_t n, err *e);
// Waits until the driver ends this process: after a failure there is nothing else to do.
_Noreturn void rank_wait_for_end(rank_link *l);
