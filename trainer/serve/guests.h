// SPDX-License-Identifier: MIT
// Who is connected to a server, what each is waited for, and until when: a slow one is shown out
// in time, and when there is no room, or no memory, the slowest go first. It knows sockets alone;
// the caller's library closes them, after guest_leave. Any thread may call.
//
//   accepted ─> NEW ─ head ─> SENDS ─ body ─> WAITS ─ prediction ─> READS ─ answer ─┐
//                                      ▲                                            │
//                                      └───────────── next head ── KEPT <───────────┘
//
// Showing out is a shutdown of the socket, which its library notices. One that was answered before
// all it sends was read lingers: what still comes is thrown away for a while, since closing at once
// would reset the connection, and the answer could be lost.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum guest_phase {
    GUEST_NEW,   // has sent no request yet
    GUEST_KEPT,  // has been answered; may send another one
    GUEST_SENDS, // the body of a request
    GUEST_READS, // an answer
    GUEST_WAITS, // for us: there is no deadline
    GUEST_PHASES,
};

struct guests_options {
    size_t most;              // so many are in at a time
    size_t held;              // so many bytes are held for all, before slow ones are shown out
    int64_t ns[GUEST_PHASES]; // so long each phase may last; 0: for ever
    void (*tick)(void *arg);  // some times a second while anybody may be late
    void (*let_go)(void *arg, void *what); // see guest_hold_up; it may not call back
    void *arg;
};

typedef struct guests guests;
typedef struct guest guest;
guests *guests_new(const struct guests_options *o, err *e);
void guests_free(guests *g); // none is in any more; NULL is fine
size_t guests_count(guests *g);
uint64_t guests_shown_out(guests *g); // how many, so far

guest *guest_enter(guests *g, int fd);
// lingers: it was refused, and more is to come, though nothing may be there yet.
void guest_leave(guests *g, guest *who, bool lingers);
void guest_turn_to(guests *g, guest *who, enum guest_phase phase);
// The caller does not read what it sends, for the sake of `what`: let_go is called when it is shown
// out, since its library notices only what it reads. NULL: it is read again.
void guest_hold_up(guests *g, guest *who, void *what);
// Notes the bytes of memory that are held for it. When all hold too many, slow ones that hold more
// than others are shown out.
void guest_hold(guests *g, guest *who, size_t bytes);
