// SPDX-License-Identifier: MIT
// Shared by displays.c and peeks.c. No other file includes it. All functions are called on the
// loop's thread, but for displays_next_id and displays_emit.
#pragma once
#include "base/data/hashset.h"
#include "base/json/rowset.h"
#include "script/kernel/port/displays.h"
#include "script/kernel/port/logdisplay.h"

#include <stdatomic.h>

struct displays {
    loop *loop;
    port *port;
    const struct displays_ops *ops;
    void *arg;
    atomic_llong last;
    // The loop's thread:
    display *first;             // the first live one
    struct followed *followed;  // branches whose trainings are followed (displays_trainings)
    bool over;                  // the run ends: no display stays live
    bool alone;                 // nobody watches
    bool unseen;                // nobody has joined, although a cell may run
    void (*drained)(void *arg); // called when no display has on_drain any more
    void *drained_arg;
};

struct display {
    displays *all;
    int64_t id;
    char *cell, *branch; // branch NULL: none
    bool complete;       // Lua's: closed when an execution ends
    bool held;           // a binding has the pointer: the display stays until it is closed
    // The loop's thread:
    struct display *next;
    cJSON *data, *rows; // not sent yet: all data, and later changes, oldest first
    cJSON *table;       // not sent yet: changes of the table as a whole
    rowset *by_uid;     // the rows in `rows`
    hashset *sent_uids; // uids of the rows that clients have; only these need a "deleted"
    int64_t rows_left;  // rows that may be sent now
    int64_t counted;    // mono ns: when rows_left was computed
    log_display *log;   // set if it is a log; else NULL
    bool grown;         // a log that has grown since it was sent
    int64_t client;     // the client of a peek; 0: not a peek
    bool ended;         // a peek whose source has ended: `data` or the log is final
    bool unwanted;      // a peek to be dropped as soon as it can be ended
    int64_t sent;       // mono ns: when it was sent
    int64_t rests;      // ns after that time in which nothing is sent while nobody watches
    bool scheduled;
    loop_timer *timer;
    void (*on_end)(void *arg);
    void *on_end_arg;
    cJSON *(*now)(void *arg); // with on_end_arg; NULL: its data do not change
    void (*on_drain)(void *arg);
    void *on_drain_arg;
    bool ends;  // it ends by itself
    bool keeps; // keeps the kernel alive as long as the display is live
    bool draining;
};

display *displays_find(const displays *all, int64_t id); // NULL: none is live
int64_t displays_next_id(displays *all);
// Emits it below a cell as a part of the run; takes data. flag: a field that is set to true; NULL:
// none.
void displays_emit(displays *all, int64_t id, const char *in_cell, const char *branch, cJSON *data,
    const char *flag);
// Adds it to the list, and announces it with `event` (taken) unless that is NULL.
void displays_enter(display *d, cJSON *event);
// These data contain all changes so far: drops those that wait to be sent.
void displays_tell_anew(display *d, const cJSON *data);
void displays_drop(display *d);             // takes it out of the list, and frees it
bool displays_is_endable(const display *d); // from outside of the call that made it
void displays_end_one(display *d);          // stops feeding it, and closes it

// followed.c: a display has sent this.
void followed_note(const display *d, const cJSON *data);
void followed_free(displays *all);

// Drops a peek; if it cannot be ended yet, it is dropped as soon as it can.
void peeks_unwant(display *d);
// Drops a client's oldest peek when it has too many.
void peeks_make_room(displays *all, int64_t client);
