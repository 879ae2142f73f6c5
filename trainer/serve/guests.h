// SPDX-License-Identifier: MIT
// The connections of a server: what each one waits for, and until when. Slow ones are disconnected
// in time; when there is no room, or no memory, the slowest go first. It knows only sockets; the
// caller's library closes them, after guest_leave. Any thread may call.
//   accepted ─> NEW ─ head ─> SENDS ─ body ─> WAITS ─ prediction ─> READS ─ answer ─┐
//                                      ▲                                            │
//                                      └───────────── next head ── KEPT <───────────┘
// Disconnecting is a shutdown of the socket, which the library notices. A connection that was
// answered before its whole request was read lingers: its remaining bytes are discarded for a
// while, since closing at once would reset the connection, and the answer could be lost.
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
    GUEST_WAITS, // it waits for us: no deadline
    GUEST_PHASES,
};

struct guests_options {
    size_t most;              // the most connections at a time
    size_t held;              // when all hold so many bytes, slow ones are disconnected
    int64_t ns[GUEST_PHASES]; // how long each phase may last; 0: without limit
    void (*tick)(void *arg);  // called several times a second while any connection may be late
    void (*let_go)(void *arg, void *what); // see guest_hold_up; it may not call back
    void *arg;
};

typedef struct guests guests;
typedef struct guest guest;
guests *guests_new(const struct guests_options *o, err *e);
void guests_free(guests *g); // no connection may be left; NULL is fine
size_t guests_count(guests *g);
uint64_t guests_shown_out(guests *g); // how many, so far

guest *guest_enter(guests *g, int fd);
// lingers: the request was refused, and more of it will come, even if nothing is there yet.
void guest_leave(guests *g, guest *who, bool lingers);
void guest_turn_to(guests *g, guest *who, enum guest_phase phase);
// The caller suspends reading it for the sake of `what`. let_go is called when it is to be
// disconnected, since the library notices only connections that it reads. NULL: reading goes on.
void guest_hold_up(guests *g, guest *who, void *what);
// Notes the bytes of memory held for it. When all hold too many, slow ones that hold more than
// others are disconnected.
void guest_hold(guests *g, guest *who, size_t bytes);
