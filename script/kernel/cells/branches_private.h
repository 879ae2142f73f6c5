// SPDX-License-Identifier: MIT
// What the files of branches share. branches.c is the scheduler; branchcalls.c waits for threads,
// persons and the clock; branchlua.c has the functions for Lua.
#pragma once
#include "base/data/hashmap.h"
#include "script/kernel/cells/branches.h"
#include "script/kernel/cells/state.h"
#include "script/kernel/cells/wait/timers.h"
#include "script/kernel/cells/wait/workers.h"

// A call on a worker's thread. The worker owns it until it is in `finished`.
struct job {
    branches *all;
    struct branch *branch; // the branch that waits for it; NULL: the cell does
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

// Branches of one parallel.map that have ended, in order of their ends, until they are taken.
struct group {
    size_t running;
    struct branch *first, **last;
    struct branch *waiter; // the branch that waits here; a waiting cell checks by itself
};

enum branch_state { READY, RUNNING, WAITING, ENDING, DONE };

// WAITING: exactly one of job, timer, awaited, group and join makes it READY, or a stop of its turn
// does. ENDING: its code has ended, but it waits for branches that it stopped.
struct branch {
    turn turn;
    struct timer timer; // of a sleep or of its time-out, whichever is first
    branches *all;
    struct branch *parent; // NULL: the cell
    lua_State *co;         // keeps the userdata's value alive
    int ref;               // keeps the userdata alive while the branch is live or its error unseen
    char *name;
    enum branch_state state;
    bool started, raised, joins;
    bool yielded;          // it failed because it yielded outside of any coroutine of its own
    int64_t asleep, limit; // mono ns, 0: unset. Until when it sleeps; when it must end
    size_t children;       // live ones
    struct job *job;
    struct branch *awaited;               // the branch that it waits for
    struct branch *waiters, *next_waiter; // the branches that wait for it
    struct group *group, *waits_group;
    struct branch *next_ready, *next_ended, *next_unseen;
    struct branch *next, *prev; // list of the live branches
    // When it is DONE: its results, or its error, are on co's stack.
    enum failure failure;
    err error; // our own error that was raised; its text ends the message
    cJSON *trace;
    int line;
    enum resume resume;
    bool anew; // one of its branches did something that was not verified
};

struct branches {
    struct interp *in;
    workers *workers;
    pthread_mutex_t lock; // guards the next three
    pthread_cond_t changed;
    struct job *finished;
    bool stopped; // some turn has to stop: check which
    // The Lua thread:
    struct branch *live, *ready, **last_ready;
    struct branch *unseen; // branches that failed, and that nobody has waited for yet
    size_t n_live, jobs;   // jobs: under way
    struct timers timers;
    hashmap *names, *keys; // how often the cell has used each key
    bool anew;             // `anew` as in a branch, for the cell's own code
};

// It can go on.
void branch_make_ready(struct branch *b);
// When its timer is due: at the end of its sleep, or at its time-out.
void branch_set_timer(struct branch *b);
// Removes the branch from the list of failures that nobody has waited for.
void branch_forget_unseen(lua_State *L, branches *all, struct branch *b);
void branch_free_job(struct job *j);
// Runs branches until over(arg) is true, or until that time (mono ns, 0: none). false: nothing is
// left that could make it true.
bool branches_pump(lua_State *L, bool (*over)(void *arg), void *arg, int64_t until);
// `return branches_park(…)` suspends the running branch; k continues when the branch is ready.
int branches_park(lua_State *L, lua_KContext ctx, lua_KFunction k);
// Raises that the turn was stopped.
int branch_raise_stopped(lua_State *L);
