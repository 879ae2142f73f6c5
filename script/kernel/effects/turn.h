// SPDX-License-Identifier: MIT
// A turn: one piece of work that can be stopped: a cell, a lookup for a client, an action on a row.
// The loop's thread makes it. Interrupts, time-outs and replies name their turn, so they never
// reach another one. It belongs to its maker, who frees it when it is back. The thread that does it
// looks at `stop` and waits on `waits`.
//
// A cell's turn may have branches: turns of its own, made and freed on the Lua thread while it
// runs. What stops a turn stops all its branches, and theirs; what stops a branch leaves its
// siblings.
#pragma once
#include "base/json.h"
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
    RESUME_ENDS, // a branch has done something anew: the next effect is not looked up either
};

typedef struct turn {
    const char *title;  // the cell's title, for messages; borrowed; NULL: none
    char *cell;         // the cell for its output; "": no cell
    int64_t deadline;   // mono ns, 0: none
    canceller *waits;   // ends its waits when it has to end
    atomic_int stop;    // enum failure: why it has to end; set once, until it goes on
    atomic_int earlier; // enum failure: why it had to end before it went on
    int64_t stopped_at; // mono ns; for the loop's thread
    bool is_action;     // a person waits after pressing a key
    int64_t client;     // its displays are this client's peeks; 0: everybody's

    // For a cell; the working thread counts.
    char source[65];     // SHA-256 of the cell's source; "": it is no cell's
    unsigned declared;   // the effects it declares, as bits; 0: none
    bool from_elsewhere; // no cell of its notebook, which is in another language, declares any
    bool redo;           // may repeat what cannot be verified, even if it reaches elsewhere
    bool captured;       // its output goes to a variable
    bool anew;           // in a resumed run: its effects are done, not verified
    bool swept;          // and what it had made before has been removed
    cJSON *used;         // the names that its program has read and set (call_used); NULL: not known
    cJSON *told;         // of a failure: the error as another language tells it (call_failed)
    int64_t ordinal;     // effect calls so far, without those of branches
    // With those of branches, for the cell's turn:
    atomic_llong effects;  // effect calls
    atomic_llong verified; // of these, how many were verified instead of done
    atomic_llong repeated; // and how many were done again, because nothing could be verified

    // Of a branch; else NULL:
    char *name;        // for people: "us-east"
    char *key;         // tells it from other branches of the cell, in another run, too
    atomic_int resume; // enum resume; of other turns effects.h has it
    struct turn *parent;
    // The tree: root's lock guards the links, and that a stop reaches all below.
    struct turn *root, *branches, *sibling, *before; // before: the sibling whose sibling this is
    pthread_mutex_t tree;
    void (*on_stop)(void *arg); // of the root: it or a branch has to stop; any thread; NULL: nobody
    void *on_stop_arg;
    // The place's (effects/place.h), under its lock:
    struct turn *next_waiting;
    bool waits_for_cluster, cluster_lost;
} turn;

void turn_init(turn *t, const char *cell, int64_t deadline);
void turn_done(turn *t);
// On the Lua thread: begins a branch of `parent`, as one of its cell; copies the strings. If the
// parent has to stop, the branch has to, too. turn_done ends it.
void turn_branch(turn *t, turn *parent, const char *name, const char *key, int64_t deadline);
// On any thread: the turn with its branches, and their waits, have to end. false: it had to
// already.
bool turn_stop(turn *t, enum failure why);
// On the thread that does it: a turn without branches goes on, with this deadline, even if it had
// to end.
void turn_go_on(turn *t, int64_t deadline);
// On any thread: why it had to end first, also if it went on since.
enum failure turn_why(const turn *t);
// The key of the branch, "" of other turns.
const char *turn_key(const turn *t);
// Is this the key of a branch of t that still verifies what it did before, or of one below?
bool turn_is_verifying(turn *t, const char *key);
// Has `key` this prefix as a branch: is it the same, or below it? All are below "".
bool turn_key_is_below(const char *key, const char *prefix);
// On any thread.
enum failure turn_stopped(const turn *t);
