// SPDX-License-Identifier: MIT
// A binding: one thing a cell can have done, as a record of C functions from JSON to JSON.
// The kernel owns calls, arguments and results; a binding knows neither Lua nor the journal.
//
//   Lua (script/lib)          kernel                               binding (script/bind)
//   k8s.create(x) ── args ──> gate → ledger: intent → start(call, args) ──> result
//        ▲                         resume: known call → verify(call, args, recorded)
//        └─ handle from JSON <──── ledger: outcome ◄── result as JSON
//                                  clean, and resume where it does again: find → undo
//
// The functions run on the Lua thread, or on that of the actions (below), block through call_*
// only, and return soon after the call's canceller is pulled. Results are JSON without secrets; a
// handle is rebuilt from its JSON alone.
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "base/loop/loop.h"
#include "script/kernel/port/display.h"

#include <stdbool.h>
#include <stdint.h>

#define EFFECTS(X)                                                                                 \
    X(PURE, "pure")               /* reads and waits */                                            \
    X(LOCAL, "local")             /* processes and files of this machine */                        \
    X(CLUSTER, "cluster")         /* makes or changes things elsewhere */                          \
    X(DESTRUCTIVE, "destructive") /* removes things elsewhere */

typedef enum effect {
#define X(name, text) EFFECT_##name,
    EFFECTS(X)
#undef X
} effect;

// What a binding sees of the running call; opaque, the kernel's.
typedef struct call call;

// What a call would touch, for the gate, the question and the ledger. Strings are new, NULL where
// there is nothing to say.
struct about {
    char *what;   // "create SparkApplication mnist in namespace default of context kind"
    char *object; // "SparkApplication mnist"
    char *context, *namespace_; // NULL: those of the cluster that was chosen
};

// What verifying an effect of an earlier kernel comes to.
enum verdict {
    VERDICT_NO,     // it is not so any more, or never was: it is to be done
    VERDICT_YES,    // looked at, and so
    VERDICT_REPEAT, // it left nothing to look at: it is done again, and its result compared
};

// What is left of an effect, as find saw it.
struct remains {
    cJSON *found; // what undo removes; NULL: there is nothing of this run's
    char *text;   // names what was found, or says why there is nothing: "was not there"
};

struct binding {
    const char *name; // "k8s.create", as Lua sees it
    effect effect;
    // Each request is told to call_ledger_partial before it is sent, and what a refusal leaves
    // undone is taken back: an intent that tells nothing has asked nobody for anything.
    bool announces;
    // Does it. Returns 0 and a new result (NULL reads as null in Lua), or -1. For an effect, what
    // it did so far when it fails midway goes to call_ledger_partial.
    int (*start)(call *c, const cJSON *args, cJSON **result, err *e);
    // Is what `recorded` tells still so? A verdict (VERDICT_YES: *result is the result to hand out,
    // NULL for the recorded one), or -1: it could not be found out. NULL: never verified, always
    // done again. recorded is the outcome, or what was announced where there is none, or NULL.
    int (*verify)(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e);
    // Looks what is left of `recorded` (as in verify, never NULL), and is provably this run's.
    // -1: it could not be found out. find and undo are both there, or neither.
    int (*find)(call *c, const cJSON *recorded, struct remains *out, err *e);
    // Removes what find found; what has gone since is no error.
    int (*undo)(call *c, const cJSON *found, err *e);
    // What it would touch. NULL: the name says it.
    void (*describe)(call *c, const cJSON *args, struct about *about);
};

// An action: what a client may have done to a row of a table, by a key and while a cell runs. It is
// a call of a binding, with what the row stands for as arguments (its `about`, namespace, name and
// uid) and these. Tables whose rows take actions list them in their JSON (doc/displays.md).
struct display_action {
    const char *name;    // "describe"
    const char *binding; // "k8s.describe"; its result is a text, {"display": number}, or anything
    const char *more;    // further arguments, as JSON; NULL: none
};

// Services for bindings. All of them may be used from the call's thread only, except where said.
loop *call_loop(call *c);
canceller *call_canceller(call *c);
int64_t call_deadline(call *c); // clock_mono() ns of the cell's time-out, 0 for none
bool call_is_action(call *c);   // somebody waits at a key: answer soon, also that it cannot be done
const char *call_cwd(call *c);  // the working folder: relative names are relative to it
const char *call_cell(call *c); // id of the executing cell, or of the one with the display
const char *call_run(call *c);  // name of this run: goes into labels
const char *const *call_env(
    call *c); // environment for children: %env and the gate's KUBECONFIG in it
// Where things are, as cli/ decided; NULL: not there.
struct call_paths {
    const char *worker, *plugin, *spark_main; // programs and what ships with them
    const char *images;                       // the local image store
    const char *share;                        // installed share: data/mnist below it
    const char *data;                         // $FIRESTEEL_DATA
    const char *notebook_dir;
};
const struct call_paths *call_paths(call *c);
// The cluster that was chosen; NULL: what the kubeconfig says. With --sandbox it is the sandbox's.
struct call_cluster {
    const char *kubeconfig; // a path, or several with ':', as in $KUBECONFIG
    const char *context, *namespace_;
};
const struct call_cluster *call_cluster(call *c);
// The objects that the bindings share for the kernel's life (http, client, sandbox): made on first
// use by `make`, freed by `drop` on the loop's thread at the end.
void *call_shared(
    call *c, const char *key, void *(*make)(call *c, err *e), void (*drop)(void *), err *e);
// Before anything is sent to the cluster: -1 with the reason when it is gone for good, as a private
// sandbox that has died. A call that waits for it when that happens is cancelled, and fails with
// the same reason.
int call_reach_cluster(call *c, err *e);
// For the status line: this call talks to the cluster's server (whether it was heard, the kernel
// sees from how the call ends); and it cannot be heard now, while the call goes on trying.
void call_asks_server(call *c, bool does);
void call_server_away(call *c, const err *reason);
// Registers bytes that must not reach journal, spools or reports.
void call_secret(call *c, const char *secret);
// The same for what lives longer than a call: a function for any thread, and what it gets first.
typedef void call_secret_fn(void *arg, const char *secret);
call_secret_fn *call_secrets(call *c, void **arg);
// Are there such bytes in a text?
bool call_is_secret(call *c, const char *text);
// Text to the cell's output; name is "stdout" or "stderr". From any thread.
void call_output(call *c, const char *name, const char *bytes, size_t n);
// Records what an effect is about to do, or has done so far, so that verify and find know where to
// look whatever happens next. It is on the disk when this returns 0; at -1 the request must not be
// sent. A JSON null takes it back: it was refused, for certain.
int call_ledger_partial(call *c, const cJSON *made, err *e);
// What marks the things that this effect makes, and no other effect of any run: a label's value.
// A resumed run that does the effect again has the same one. NULL: the call is no effect.
const char *call_mark(call *c);
// Is a mark one of this run's?
bool call_is_marked(call *c, const char *mark);
// While verifying: has a later effect of the run changed what has this uid?
bool call_changed_later(call *c, const char *uid);
// While verifying: these fields (an array of texts) are not as the effect left them. 0 when the run
// was told to accept that, else -1 with ERR_REFUSED.
int call_drift(call *c, const cJSON *fields, err *e);
// Does the journal hide a secret in a recorded text?
bool call_is_hidden(const char *text);
// What the cell prints goes to a variable.
bool call_is_captured(call *c);
// Says that what an earlier effect of the run made is there no more: those whose result has this
// uid ("uid", or "metadata": {"uid"}) leave the ledger. For deletes.
void call_ledger_gone(call *c, const char *uid);

// Displays: what a cell leaves below it. `data` is a MIME bundle that has "text/plain". A live one
// outlives the call, and is fed from the loop's thread until it is closed (display.h); NULL unless
// it is live.
display *call_display(call *c, cJSON *data, bool live);
// A live log: what display_text brings is spooled, and shown as the display itself.
display *call_log(call *c, const char *title, err *e);
