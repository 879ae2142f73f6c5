// SPDX-License-Identifier: MIT
// Limits how many long bodies are read at once (lanes), so that they take no time from short
// requests, however many there are. The newest gets a lane first, and one that sends nothing for a
// moment loses its lane: slow clients wait, fast ones do not. Any thread may call.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A place of the caller's, zeroed at first; it stays where it is until lanes_leave.
struct lane_place {
    void *who;
    bool rides, waits;
    int64_t since, taken; // the last piece or the beginning of the wait; when it got its lane
    struct lane_place *next, *previous;
};

typedef struct lanes lanes;
// most: number of lanes; idle_ns: how long one may be silent; ride_ns: how long it keeps its lane
// while others wait; wait_ns: the longest wait. go(who) ends the wait; then lanes_take is called
// again.
struct lanes_options {
    size_t most;
    int64_t idle_ns, ride_ns, wait_ns;
    void (*go)(void *who);
};
lanes *lanes_new(const struct lanes_options *o);
void lanes_free(lanes *l); // NULL is fine
// A piece has arrived: may it be read? false: the caller stops reading, and then calls lanes_wait.
bool lanes_take(lanes *l, struct lane_place *p);
void lanes_wait(lanes *l, struct lane_place *p);
void lanes_leave(lanes *l, struct lane_place *p);  // in any state
void lanes_let_go(lanes *l, struct lane_place *p); // if it waits
// From time to time, some ten times a second.
void lanes_tick(lanes *l);
// Ends all waits.
void lanes_open(lanes *l);
