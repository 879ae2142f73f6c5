// SPDX-License-Identifier: MIT
// Shared by the parts of k8s.preflight. Private to script/api/preflight/preflight.c and room.c.
#pragma once
#include "k8s/client/state/need.h"
#include "script/api/k8s/k8s.h"

// Pods that an object will ask for, and where.
struct asked {
    struct need need;
    const char *ns;
};

// One object that is about to be made, what all of them ask for, and what was found out about
// their chances.
struct flight {
    call *call;
    struct target t;
    struct patience quick; // of the last question
    bool silent;           // a question had no answer: the others wait less
    const cJSON *object;
    bool applies;  // it may be there
    bool engine_s; // an engine of hvd.run makes it, with a function that nobody has packed yet
    const char *ns;
    const char *open; // stands for what is not known yet; NULL: all is known
    struct need needs[NEEDS_MAX];
    size_t n_needs;
    struct asked *all; // of the objects so far
    size_t n_all;
    cJSON *hooks;    // of all webhook configurations; NULL: not read yet
    cJSON *findings; // [{"level", "what", "next"}]
};

// ERROR: it cannot succeed. WARNING: it may fail, or not do what was meant. NOTE: it cannot be
// told.
enum level { FLIGHT_ERROR, FLIGHT_WARNING, FLIGHT_NOTE };
// next NULL: none. The same finding is added once.
void flight_add(struct flight *f, enum level level, const char *what, const char *next);
// Does room for all their pods exist, and is it free: nodes, quotas. Each is read once.
void flight_room(struct flight *f);
// Patience for the next question. Each has its own, so that one that is never answered takes none
// from the others.
const struct patience *flight_ask(struct flight *f);
