// SPDX-License-Identifier: MIT
// What the files of branches share: branches.c is the scheduler, branchcalls.c what waits for a
// thread, a person or the clock, branchlua.c the functions that Lua has.
#pragma once
#include "base/hashmap.h"
#include "script/kernel/cells/branches.h"
#include "script/kernel/cells/state.h"
#include "script/kernel/cells/timers.h"
#include "script/kernel/cells/workers.h"

// A call on a worker's thread. The worker has it until it is in `finished`.
struct job {
    branches *all;
    struct branch *branch; // that waits for it; NULL: the cell
    turn *turn;
    void (*work)(struct job *j);
    char *name; // of the binding; or the question
    cJSON *args;
    char **env;
    bool secret;
    cJSON *result;
    char *answer;
    err error;
    bool done, failed; // done: for the Lua thread
    struct job *next;
};

// Branches of one parallel.map: those that have ended, in that order, until somebody takes them.
struct group {
    size_t running;
    struct branch *first, **last;
    struct branch *waiter; // a branch; a cell that waits looks by itself
};

enum branch_state { READY, RUNNING, WAITING, ENDING, DONE };

// WAITING: exactly one of job, timer, awaited, group and join will make it READY, or its turn's
// stop. ENDING: its code is through, but it has branches that were stopped.
struct branch {
    turn turn;
    struct timer timer; // of a sleep or of its time-out, whichever is first
    branches *all;
    struct branch *parent; // NULL: the cell
    lua_State *co;         // the userdata's value keeps it
    int ref;               // the userdata, while it is live or its error unseen
    char *name;
    enum branch_state state;
    bool started, raised, joins;
    bool yielded; // it failed: it yielded, and no coroutine of its own was there to take that
    int64_t asleep, limit; // mono ns: sleeps until; has to end by; 0: not
    size_t children;       // live ones
    struct job *job;
    struct branch *awaited;               // the one that it waits for
    struct branch *waiters, *next_waiter; // those that wait for it
    struct group *group, *waits_group;
    struct branch *next_ready, *next_ended, *next_unseen;
    struct branch *next, *prev; // the live ones
    // When it is DONE: its results are on co's stack, or its error is.
    enum failure failure;
    err error; // of ours that was raised; its text ends the message
    cJSON *trace;
    int line;
    enum resume resume;
    bool anew; // a branch of it did something that was not verified
};

struct branches {
    struct interp *in;
    workers *workers;
    pthread_mutex_t lock; // for the next three
    pthread_cond_t changed;
    struct job *finished;
    bool stopped; // a turn has to stop: look which
    // The Lua thread:
    struct branch *live, *ready, **last_ready;
    struct branch *unseen; // failed, and nobody has waited for it yet
    size_t n_live, jobs;   // jobs: under way
    struct timers timers;
    hashmap *names, *keys; // how often the cell has used each
    bool anew;             // as in a branch, of the cell's own
};

// It can go on.
void branch_make_ready(struct branch *b);
// Its next time: the end of its sleep, or its time-out.
void branch_set_timer(struct branch *b);
// Takes the branch from the list of failures that nobody has waited for yet.
void branch_forget_unseen(lua_State *L, branches *all, struct branch *b);
void branch_free_job(struct job *j);
// Goes on with branches until over(arg), or until that time (mono ns, 0: none). false: nothing can
// come any more.
bool branches_pump(lua_State *L, bool (*over)(void *arg), void *arg, int64_t until);
// `return branches_park(…)` suspends the running branch; k goes on when it was made ready.
int branches_park(lua_State *L, lua_KContext ctx, lua_KFunction k);
// Raises that the turn was stopped.
int branch_raise_stopped(lua_State *L);
