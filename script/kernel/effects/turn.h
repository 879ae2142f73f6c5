// SPDX-License-Identifier: MIT
// A turn: one piece of work that can be stopped: a cell, a lookup for a client, an action on a row.
// The loop's thread makes it. Interrupts, time-outs and replies name their turn, so they never
// reach another one. Its maker owns it, and frees it when it is back. The working thread checks
// `stop` and waits on `waits`.
// A cell's turn may have branches: turns of its own, which the Lua thread makes and frees while the
// cell runs. Stopping a turn stops all branches below it; stopping a branch does not stop its
// siblings.
#pragma once
#include "base/json/json.h"
#include "base/loop/loop.h"

#include <pthread.h>
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

// In a resumed run: are effects verified instead of done?
enum resume {
    RESUME_OFF,
    RESUME_ON,   // all effects so far were verified, or repeated with the same result
    RESUME_ENDS, // a branch has done something anew: do not look up the next effect either
};

typedef struct turn {
    const char *title;  // the cell's title, for messages; borrowed; NULL: none
    char *cell;         // the cell for its output; "": no cell
    int64_t deadline;   // mono ns, 0: none
    canceller *waits;   // ends its waits when it has to stop
    atomic_int stop;    // enum failure: why it has to stop; set once, until the turn continues
    atomic_int earlier; // enum failure: why it had to stop before it continued
    int64_t stopped_at; // mono ns; for the loop's thread
    bool is_action;     // a person waits after pressing a key
    int64_t client;     // its displays are peeks of this client; 0: everybody sees them

    // For a cell; the working thread counts.
    char source[65];     // SHA-256 of the cell's source; "": it is no cell's
    unsigned declared;   // the effects that it declares, as bits; 0: none
    bool from_elsewhere; // its notebook is in another language, and no cell of it declares any
    bool redo;           // may repeat what cannot be verified, even beyond this machine
    bool captured;       // its output goes to a variable
    bool anew;           // in a resumed run: its effects are done, not verified
    bool swept;          // and what it had made before was removed
    cJSON *used;         // the names that its program has read and set (call_used); NULL: unknown
    cJSON *foreign;      // its error as another language reports it (call_failed)
    int64_t ordinal;     // number of effect calls so far, without those of branches
    // With those of branches, for the cell's turn:
    atomic_llong effects;  // effect calls
    atomic_llong verified; // of these, how many were verified instead of done
    atomic_llong repeated; // and how many were done again, because nothing could be verified

    // Of a branch; else NULL:
    char *name;        // for people: "us-east"
    char *key;         // identifies it among the cell's branches, also in another run
    atomic_int resume; // enum resume; for other turns it is in effects.h
    struct turn *parent;
    // The tree: the root's lock guards the links, and makes a stop reach all turns below.
    struct turn *root, *branches, *sibling, *before; // before: the sibling whose `sibling` this is
    pthread_mutex_t tree;
    void (*on_stop)(void *arg); // of the root: called from any thread when it or a branch has to
                                // stop; NULL: nothing
    void *on_stop_arg;
    // The place's (effects/place.h), under its lock:
    struct turn *next_waiting;
    bool waits_for_cluster, cluster_lost;
} turn;

void turn_init(turn *t, const char *cell, int64_t deadline);
void turn_done(turn *t);
// On the Lua thread: begins a branch of `parent` in its cell; copies the strings. If the parent has
// to stop, so has the branch. turn_done ends it.
void turn_branch(turn *t, turn *parent, const char *name, const char *key, int64_t deadline);
// On any thread: makes the turn, its branches, and their waits stop. false: it had to stop already.
bool turn_stop(turn *t, enum failure why);
// On the working thread: a turn without branches continues with this deadline, even if it had to
// stop.
void turn_go_on(turn *t, int64_t deadline);
// On any thread: why it first had to stop, also if it has continued since.
enum failure turn_why(const turn *t);
// The key of the branch, "" of other turns.
const char *turn_key(const turn *t);
// Is this the key of a branch of t, or below one, that still verifies what it did before?
bool turn_is_verifying(turn *t, const char *key);
// Is `key` the branch with this prefix, or below it? All keys are below "".
bool turn_key_is_below(const char *key, const char *prefix);
// On any thread.
enum failure turn_stopped(const turn *t);
