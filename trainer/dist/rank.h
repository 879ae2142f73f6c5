// SPDX-License-Identifier: MIT
// A rank's side: over a descriptor that it inherits it gets its place and its function, and sends
// what it has to say. The link is owned by who opened it; rank_send may be called from any thread.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "trainer/dist/message.h"
#include "trainer/dist/place.h"

typedef struct rank_link rank_link;

// Says over the descriptor, which it takes, that this rank runs. From now on SIGTERM from a starter
// that is gone ends the whole process group.
rank_link *rank_open(int fd, err *e);
// Waits for the place and the function; its bytes stay the link's.
int rank_job(rank_link *l, struct place *place, const void **function, size_t *n, err *e);
// From now on this process ends at once when the driver says so, or is gone.
int rank_watch(rank_link *l, err *e);
int rank_send(rank_link *l, message_kind kind, const void *body, size_t n, err *e);
// Waits until the driver ends this process: after a failure there is nothing else to do.
_Noreturn void rank_wait_for_end(rank_link *l);
