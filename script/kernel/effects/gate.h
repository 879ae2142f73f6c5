// SPDX-License-Identifier: MIT
// The gate decides which effects a run, and a cell in it, may have. Sets of effects are bits, 1 <<
// effect. A gate remembers what was granted. It locks by itself.
//   pure, local          always granted (unless the cell declares only "pure")
//   cluster, destructive headless: --allow; interactive: asked once for each context and namespace,
//     until the last client has left
// In a read-only run neither is granted. In a protected context the gate asks every time, and a
// headless run needs --allow-protected CONTEXT beside --allow. A declaration restricts: a cell with
// effects="cluster" may not delete, whatever is granted.
#pragma once
#include "base/err.h"
#include "script/kernel/effects/binding.h"
#include "script/kernel/effects/turn.h"
#include "script/kernel/port/asks.h"
#include "script/notebook/notebook.h"

#include <stdbool.h>

typedef struct gate gate;

// allow: "cluster,destructive", or NULL. ERR_USAGE names the known classes.
gate *gate_new(const char *allow, bool headless, err *e);
void gate_free(gate *g);
// Call them before the first effect. read_only: refuses all changes elsewhere. The other: the
// protected contexts in which a headless run may do what is allowed (NULL-terminated, borrowed;
// NULL: none).
void gate_restrict(gate *g, bool read_only, const char *const *allow_protected);
bool gate_is_read_only(const gate *g);
// From any thread, also while a question waits: withdraws what people have granted for a whole
// scope.
void gate_forget(gate *g);
// May a headless run have effects in this protected context?
bool gate_allows_protected(const gate *g, const char *context);
const char *effect_name(effect which);

// The bits of a cell's effects= option, which the notebook has checked; NULL: 0, undeclared.
// cluster and destructive include local, and all include pure.
unsigned gate_declared(char *const *effects);
// Call it before the first cell: checks that everything the cells declare was granted. ERR_REFUSED
// names the cells and the missing option; *first (may be NULL) is the first such cell.
int gate_check_notebook(const gate *g, const notebook *nb, size_t *first, err *e);

struct gate_request {
    const turn *turn; // NULL: no turn, or it declares no effects
    effect effect;
    const char *what;     // "create Job pi in namespace default"
    const char *scope;    // the context and namespace that an answer covers
    bool says_where;      // `what` contains them
    const char *guarded;  // the context, if it is protected; else NULL
    const cJSON *details; // details for clients that show more than the question's text
    // Asks a person: 1 yes, 2 yes for the whole scope, 0 no, -1 on an error (interrupted).
    int (*ask)(void *arg, const struct question *q, err *e);
    void *arg;
};
// Returns 0, or -1 with ERR_REFUSED, which names the line to add or the option to give.
int gate_pass(gate *g, const struct gate_request *r, err *e);
// For an action in a live view, on the loop's thread. Returns 0 if a person's yes to this action is
// enough, -1 if not: in a read-only run, or a headless one to which it was not granted.
int gate_action(const gate *g, effect which, const char *what, const char *guarded, err *e);
// "create Job pi? (cluster, context kind, namespace default)". where NULL: `what` says it. New.
char *gate_question(effect which, const char *what, const char *where);
