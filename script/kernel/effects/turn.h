// SPDX-License-Identifier: MIT
// A turn: one thing that somebody wants done and may want ended: a cell, a lookup for a client, an
// action on a row. The loop's thread makes it and names it in interrupts, time-outs and replies, so
// that what is meant for one never reaches another. It belongs to its maker, who frees it when it
// is back; whoever does it meanwhile looks at `stop` and waits on `waits`.
#pragma once
#include "base/loop/loop.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// Why a turn failed or has to end; the names are those of message.def's error, the codes what `run`
// exits with.
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
    const char *title;  // the cell's, for messages; borrowed, NULL: it has none
    char *cell;         // below which what it says goes; "": no cell
    int64_t deadline;   // mono ns, 0: none
    canceller *waits;   // what it waits for ends with it
    atomic_int stop;    // enum failure: why it has to end; set once
    int64_t stopped_at; // the loop's thread: mono ns
    bool is_action;     // somebody waits at a key
    int64_t client;     // who: what it shows is his peek; 0: everybody's

    // Of a cell's; the thread that does it counts.
    char source[65];   // SHA-256 of the cell's source; "": it is no cell's
    unsigned declared; // effects that it declares, as bits; 0: it declares none
    bool redo;         // what cannot be verified may be done again, though it reaches elsewhere
    bool captured;     // what it prints goes to a variable
    int64_t effects;   // effect calls so far
    int64_t verified;  // of these, how many were verified instead of done
    int64_t repeated;  // and how many were done again, for want of something to verify
} turn;

void turn_init(turn *t, const char *cell, int64_t deadline);
void turn_done(turn *t);
// The loop's thread: it has to end, and so have its waits. false: it had to already.
bool turn_stop(turn *t, enum failure why);
// Any thread.
enum failure turn_stopped(const turn *t);
