// SPDX-License-Identifier: MIT
// A turn: one piece of work that can be stopped: a cell, a lookup for a client, an action on a row.
// The loop's thread makes it. Interrupts, time-outs and replies name their turn, so they never
// reach another one. It belongs to its maker, who frees it when it is back. The thread that does it
// looks at `stop` and waits on `waits`.
#pragma once
#include "base/loop/loop.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// Why a turn failed or has to end. The names are those of message.def's error; the codes are
// `run`'s exit codes.
#define FAILURES(X)                                                                                \
    X(NONE, "", 0)                                                                                 \
    X(ERROR, "error", 1)                                                                           \
    X(SYNTAX, "syntax", 1)                                                                         \
    X(ASSERTION, "assertion", 1)                                                                   \
    X(MEMORY, "memory", 1)                                                                         \
    X(REFUSED, "refused", 3)                                                                       \
    X(TIMEOUT, "timeout", 4)                                                                       \
    X(INTERRUPTED, "interrupted", 130)

enum failure {
#define X(name, text, exit) FAILURE_##name,
    FAILURES(X)
#undef X
};
const char *failure_name(enum failure f);
int failure_exit(enum failure f);

typedef struct turn {
    const char *title;  // the cell's title, for messages; borrowed; NULL: none
    char *cell;         // the cell for its output; "": no cell
    int64_t deadline;   // mono ns, 0: none
    canceller *waits;   // ends its waits when it has to end
    atomic_int stop;    // enum failure: why it has to end; set once
    int64_t stopped_at; // mono ns; for the loop's thread
    bool is_action;     // a person waits after pressing a key
    int64_t client;     // its displays are this client's peeks; 0: everybody's

    // For a cell; the working thread counts.
    char source[65];   // SHA-256 of the cell's source; "": it is no cell's
    unsigned declared; // the effects it declares, as bits; 0: none
    bool redo;         // may repeat what cannot be verified, even if it reaches elsewhere
    bool captured;     // its output goes to a variable
    int64_t effects;   // effect calls so far
    int64_t verified;  // of these, how many were verified instead of done
    int64_t repeated;  // and how many were done again, because nothing could be verified
} turn;

void turn_init(turn *t, const char *cell, int64_t deadline);
void turn_done(turn *t);
// On the loop's thread: the turn and its waits have to end. false: they had to already.
bool turn_stop(turn *t, enum failure why);
// On any thread.
enum failure turn_stopped(const turn *t);
