// SPDX-License-Identifier: MIT
// The gate: which effects a run, and a cell in it, may have. Sets of effects are bits, 1 << effect.
// A gate keeps what was granted; it belongs to the Lua thread while a cell runs.
//
//   pure, local          always granted (unless the cell declares only "pure")
//   cluster, destructive headless: --allow; interactive: asked for once for each context and
//                        namespace
//
// A declaration narrows: effects="cluster" keeps a cell from deleting, whatever is granted.
#pragma once
#include "base/err.h"
#include "script/kernel/effects/binding.h"
#include "script/kernel/effects/turn.h"
#include "script/kernel/port/asks.h"
#include "script/notebook/notebook.h"

#include <stdbool.h>

typedef struct gate gate;

// allow: "cluster,destructive", or NULL. Errors: ERR_USAGE naming the known classes.
gate *gate_new(const char *allow, bool headless, err *e);
void gate_free(gate *g);
const char *effect_name(effect which);

// The bits of a cell's effects= option (checked by the notebook); NULL: 0, undeclared. What can be
// done elsewhere includes what is done here: cluster and destructive imply local, all imply pure.
unsigned gate_declared(char *const *effects);
// Before cell 1: is everything granted that cells declare? ERR_REFUSED names the cells and the
// option to add.
int gate_check_notebook(const gate *g, const notebook *nb, err *e);

struct gate_request {
    const turn *turn; // NULL: of none that declares effects
    effect effect;
    const char *what;     // "create Job pi in namespace default"
    const char *scope;    // context and namespace: what an answer holds for
    bool says_where;      // `what` has them in it
    const cJSON *details; // of the question, for those who show more than its text
    // Asks a person: 1 yes, 2 yes for the whole scope, 0 no, -1 on an error (interrupted).
    int (*ask)(void *arg, const struct question *q, err *e);
    void *arg;
};
// 0, or -1: ERR_REFUSED with the line to add or the option to give.
int gate_pass(gate *g, const struct gate_request *r, err *e);
// For an action of a live view, on the loop's thread: 0 when it may be had after a person said yes
// to this very one, -1 when not (a headless run, where it was not granted).
int gate_action(const gate *g, effect which, const char *what, err *e);
// "create Job pi? (cluster, context kind, namespace default)"; where NULL: `what` says it. New.
char *gate_question(effect which, const char *what, const char *where);
