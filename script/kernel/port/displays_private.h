// SPDX-License-Identifier: MIT
// Shared by displays.c and peeks.c. No other file includes it. All functions are called on the
// loop's thread, but for displays_next_id and displays_emit.
#pragma once
#include "base/hashset.h"
#include "base/rowset.h"
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
    struct followed *followed;  // branches whose trainings somebody follows
    bool over;                  // the run ends: no display stays live
    bool alone;                 // nobody looks
    void (*drained)(void *arg); // told when none has on_drain any more
    void *drained_arg;
};

struct display {
    displays *all;
    int64_t id;
    char *cell, *branch; // branch NULL: none
    bool complete;       // Lua's: it is closed when an execution ends
    bool held;           // a binding has the pointer: the display stays until it is closed
    // The loop's thread:
    struct display *next;
    cJSON *data, *rows; // not sent yet: all data, and later changes, oldest first
    cJSON *table;       // not sent yet: changes of the table as a whole
    rowset *by_uid;     // the rows in `rows`
    hashset *told;      // uids of the rows that clients have; only these need a "deleted"
    int64_t rows_left;  // rows that may be sent now
    int64_t counted;    // mono ns: when rows_left was computed
    log_display *log;   // if it is a log; or NULL
    bool grown;         // a log: it has grown since it was sent
    int64_t client;     // of a peek: its client; 0: not a peek
    bool ended;         // a peek whose source has ended: `data` or the log is all there is
    bool unwanted;      // a peek to be dropped as soon as it can be ended
    int64_t sent;       // mono ns: when it was sent
    int64_t rests;      // ns after that in which it is not sent while nobody looks
    bool scheduled;
    loop_timer *timer;
    void (*on_end)(void *arg);
    void *on_end_arg;
    cJSON *(*now)(void *arg); // with on_end_arg; NULL: its data do not change
    void (*on_drain)(void *arg);
    void *on_drain_arg;
    bool ends;  // by itself
    bool keeps; // the kernel, as long as it is live
    bool draining;
};

display *displays_find(const displays *all, int64_t id); // NULL: none is live
int64_t displays_next_id(displays *all);
// Emits it below a cell as a part of the run; takes data. flag: a field that is true; NULL: none.
void displays_emit(displays *all, int64_t id, const char *in_cell, const char *branch, cJSON *data,
    const char *flag);
// Takes it into the list and tells of it, unless `event` is NULL; takes the event.
void displays_enter(display *d, cJSON *event);
// These data are all that there is to tell of it: changes that wait are parts of them.
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
