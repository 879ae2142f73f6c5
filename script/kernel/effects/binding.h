// SPDX-License-Identifier: MIT
// A binding: one operation for cells, as a record of C functions from JSON to JSON. The kernel owns
// calls, arguments and results. A binding knows neither Lua nor the journal.
//
//   Lua (script/lib)          kernel                               binding (script/bind)
//   k8s.create(x) ── args ──> gate → ledger: intent → start(call, args) ──> result
//        ▲                         resume: known call → verify(call, args, recorded)
//        └─ handle from JSON <──── ledger: outcome ◄── result as JSON
//                                  clean, and resume before it repeats: find → undo
//
// The functions run on the Lua thread, or on the thread of the actions (below). They block only
// through call_*, and return soon after the call's canceller is used. Results are JSON without
// secrets; a handle can be rebuilt from its JSON alone.
#pragma once
#include "base/digest.h"
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

// The running call, as a binding sees it; opaque; the kernel owns it.
typedef struct call call;

// What a call would change, for the gate, the question and the ledger. Strings are new, or NULL.
struct about {
    char *what;   // "create SparkApplication mnist in namespace default of context kind"
    char *object; // "SparkApplication mnist"
    char *context, *namespace_; // NULL: those of the chosen cluster
};

// The result of verifying an effect of an earlier kernel.
enum verdict {
    VERDICT_NO,     // it is not so any more, or never was: do it
    VERDICT_YES,    // it was checked, and is so
    VERDICT_REPEAT, // nothing can be checked: do it again and compare the result
    VERDICT_AGAIN,  // the same, and the cell allows it although it reaches beyond this machine
};

// What `find` has found of an effect.
struct remains {
    cJSON *found; // for undo to remove; NULL: this run has nothing there
    char *text;   // names what was found, or why nothing was: "was not there"
};

// What looks at one call have found (binding.look).
struct glance {
    char *seen;    // which state was looked at: the same one again needs no closer look; or NULL
    char *why;     // "Job pi has changed: spec.parallelism"; NULL: it holds, or nobody can tell
    int64_t again; // clock_mono() ns before which there is no need to look
};

struct binding {
    const char *name; // the name in Lua: "k8s.create"
    effect effect;
    // Promises that call_ledger_partial is called before each request is sent, and that it is taken
    // back when the request was refused. Then an intent that announces nothing has sent no request.
    bool announces;
    // It runs a program that calls other bindings meanwhile (call_serve). Those are verified one by
    // one, so after a failure, or a kernel's death, it is begun again as if it had ended well.
    bool around;
    // The members of its result that are texts which programs said (said.h), NULL-terminated; the
    // journal has the beginning and the end of a long one. NULL: none.
    const char *const *said;
    // Does it. Returns 0 and a new result (NULL becomes null in Lua), or -1. If an effect fails
    // midway, it reports what it has done so far with call_ledger_partial.
    int (*start)(call *c, const cJSON *args, cJSON **result, err *e);
    // Is what `recorded` says still true? Returns a verdict (with VERDICT_YES, *result is the
    // result to hand out, NULL for the recorded one), or -1 when that cannot be found out. verify
    // NULL: never verified, always done again. recorded is the outcome; without one, what was
    // announced; or NULL.
    int (*verify)(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e);
    // Finds what is left of `recorded` (as in verify, never NULL) and is provably this run's. -1:
    // that cannot be found out. A binding has both find and undo, or neither.
    int (*find)(call *c, const cJSON *recorded, struct remains *out, err *e);
    // Removes what find has found; it is no error if that has gone since.
    int (*undo)(call *c, const cJSON *found, err *e);
    // For people, every few seconds: is what `result` says another now? It records and changes
    // nothing; at an error `g` stays as it was. NULL: nothing is looked at.
    void (*look)(call *c, const cJSON *args, const cJSON *result, struct glance *g, err *e);
    // Describes what the call would change. NULL: the binding's name is enough.
    void (*describe)(call *c, const cJSON *args, struct about *about);
};

// An action: a key lets a client do it to a row of a table, also while a cell runs. It calls a
// binding; the arguments are the row's object (its `about`, namespace, name and uid) and those
// here. Tables whose rows take actions list them in their JSON (doc/displays.md). One that stands
// alone needs no row: its arguments are the message's.
struct display_action {
    const char *name;    // "describe"
    const char *binding; // "k8s.describe"; results: a text, {"display": number}, or others
    const char *more;    // further arguments, as JSON; NULL: none
    const char *takes;   // the argument that gets what was typed with it; NULL: nothing is typed
    bool alone;
    bool several; // a message may name many rows: one question for all, a call for each
    // A pure binding that is called before the question, with the same arguments. Its result
    // becomes arguments, too; but "diff", which the question shows, and "nothing": a text that says
    // why there is nothing to do, and is the reply, as a {"display": number} is, from which a
    // person chooses what to do it to. NULL: there is none.
    const char *first;
    bool told; // the result goes to who pressed the key, although the binding is not pure
};

// Services for bindings. Call them only on the call's thread, except where noted.
loop *call_loop(call *c);
canceller *call_canceller(call *c);
bool call_goes_on(void *c);     // it is not cancelled; as sha256_read asks between chunks
int64_t call_deadline(call *c); // clock_mono() ns at which the cell's time is over, 0 for none
bool call_is_action(call *c);   // a person waits after pressing a key: answer soon
const char *call_cwd(call *c);  // the working folder, for relative names
const char *call_run(call *c);  // name of this run, for labels
// The name of the notebook's file, and git's commit when the run began; NULL: not known.
const char *call_notebook(call *c);
const char *call_commit(call *c);
const char *const *call_env(
    call *c); // environment for children, with %env and the gate's KUBECONFIG
// May the cell's programs use the cluster by themselves? Its effects= decides. In a notebook from
// elsewhere, where no cell declares anything, --allow decides, or a person, who is asked if
// `may_ask`.
bool call_lends_cluster(call *c, bool may_ask);
// The same, new, for a program that outlives its cell and so may never use a cluster.
char **call_lasting_env(call *c);
// The folder for sockets and the like, which only this user can enter.
const char *call_runtime(call *c);
bool call_is_headless(call *c); // nobody can be asked
// Asks a person and waits; the answer is new. NULL: ERR_CANCELLED, or ERR_REFUSED when there is
// nobody. An answer that is secret is masked from then on.
char *call_ask(call *c, const char *question, bool secret, err *e);
// Before a call fails: the error as another language tells it, {name, message, traceback: [texts]},
// which its cell's error becomes. Takes it.
void call_failed(call *c, cJSON *told);
// The names that the cell's program has read and set, as cells/reads.h has them. Takes it.
void call_used(call *c, cJSON *used);
// Does what a program asks for that this binding runs: calls a function of script/lib that is in
// core.hooks, with JSON. Only for calls of a cell, on its thread. Takes args. *result is new. -1:
// the turn has to stop, or this is a call of a branch.
int call_serve(call *c, const char *hook, cJSON *args, cJSON **result, err *e);
// Paths that cli/ has decided; NULL: it does not exist.
struct call_paths {
    const char *worker, *plugin, *spark_main; // programs, and the files that come with them
    const char *jupyter;                      // the program between us and a Jupyter kernel
    const char *python;                       // the folder of Python's module firesteel
    const char *dnn;                          // the plug-in with oneDNN
    const char *firesteel, *kernel;           // the command line, and this program
    const char *images;                       // the local image store
    const char *share;                        // installed share folder, with data/mnist
    const char *data;                         // $FIRESTEEL_DATA
    const char *notebook_dir;
};
const struct call_paths *call_paths(call *c);
// The chosen cluster; NULL: as the kubeconfig says. With --sandbox it is the sandbox's cluster.
struct call_cluster {
    const char *kubeconfig; // a path, or several with ':', as in $KUBECONFIG
    const char *context, *namespace_;
    const char *registry; // for images that name none: "HOST[:PORT][/PREFIX]"
};
const struct call_cluster *call_cluster(call *c);
// The objects that bindings share while the kernel lives (http, client, sandbox): `make` makes one
// at its first use, and `drop` frees it on the loop's thread at the end.
void *call_shared(
    call *c, const char *key, void *(*make)(call *c, err *e), void (*drop)(void *), err *e);
// Call it before sending anything to the cluster: -1 with the reason when the cluster is gone for
// good, such as a private sandbox that has died. If that happens later, a call that waits for the
// cluster is cancelled and fails with the same reason.
int call_reach_cluster(call *c, err *e);
// For the status line. First: this call talks to the cluster's server (the kernel learns from the
// end of the call whether the server answered). Second: the server cannot be reached now, and the
// call goes on trying.
void call_asks_server(call *c, bool does);
void call_server_away(call *c, const err *reason);
// Registers bytes that must never get into journal, spools or reports.
void call_secret(call *c, const char *secret);
// The same for objects that outlive a call: a function for any thread, and its first argument.
typedef void call_secret_fn(void *arg, const char *secret);
call_secret_fn *call_secrets(call *c, void **arg);
// Does the text contain such bytes?
bool call_is_secret(call *c, const char *text);
// Writes text to the cell's output; name is "stdout" or "stderr". From any thread.
void call_output(call *c, const char *name, const char *bytes, size_t n);
// Sets result.NAME, a text that a program said (binding.said), and tells how many bytes it does not
// have. said_output: for those that have one, "output".
extern const char *const said_output[];
void call_said(cJSON *result, const char *name, const char *text, uint64_t left_out);
// Records what the cell depends on, for comparing runs: kind is "input", "image" or "version".
// Takes the value.
void call_recorded(call *c, const char *kind, const char *name, cJSON *value);
// Tells which cluster is used: {uid, version}, of the namespace kube-system and of the server.
// Takes it. Once in a run is enough: is it known already?
void call_learned_cluster(call *c, cJSON *cluster);
bool call_knows_cluster(call *c);
// Records what an effect is about to do, or has done so far: verify and find then know where to
// look, whatever happens. When this returns 0, the record is on the disk; at -1 the request must
// not be sent. A JSON null takes the record back: the request was certainly refused.
int call_ledger_partial(call *c, const cJSON *made, err *e);
// All that this effect has made is removed again: nothing is left for clean, though its result
// holds.
void call_ledger_tidied(call *c);
// The mark of the things that this effect makes, as a label's value. No other effect of any run has
// it. If a resumed run does the effect again, the mark stays the same. NULL: the call is no effect.
const char *call_mark(call *c);
// Is this the mark of an effect of this run?
bool call_is_marked(call *c, const char *mark);
// The digest of a value, for records of what must not stand in the journal: the same value has the
// same digest in a resumed run, but another one in other runs.
void call_digest(call *c, const cJSON *value, char hex[SHA256_HEX]);
// While verifying or looking: has a later effect of the run changed or deleted the object with this
// uid? With `set` (an object; NULL: none) those do not count that tell the fields that they have
// set, as members of "set" in their result: these are added to it.
bool call_changed_later(call *c, const char *uid, cJSON *set);
// While verifying: these fields (an array of texts) differ from what the effect left. 0 when the
// run may accept that, else -1 with ERR_REFUSED.
int call_drift(call *c, const cJSON *fields, err *e);
// Has the journal hidden a secret in this recorded text?
bool call_is_hidden(const char *text);
// A new folder of mode 0700 in $TMPDIR, "firesteel-NAME-…", or in `parent`. It is removed by
// call_drop_temp, at the kernel's end, and if the kernel is killed: by its guard or by the next
// verb. The path is the caller's. From any thread.
char *call_temp(call *c, const char *name, const char *parent, err *e);
void call_drop_temp(call *c, const char *path); // NULL is fine
// Does the cell's output go to a variable?
bool call_is_captured(call *c);
// An object that an earlier effect of the run made is gone: ledger entries whose result has this
// uid ("uid", or "metadata": {"uid"}) are settled. For deletes.
void call_ledger_gone(call *c, const char *uid);

// Displays, which a cell leaves below it. `data` is a MIME bundle that has "text/plain". A live
// display outlives the call, and is fed from the loop's thread until it is closed (display.h). The
// result is NULL unless it is live. Also from the loop's thread while the call waits for it.
display *call_display(call *c, cJSON *data, bool live);
// The same bundle as one of ours, new: it has text/plain in any case.
cJSON *call_bundle(const cJSON *data);
// Removes what the cell has shown so far, and ends its displays. On the loop's thread.
void call_clear(call *c);
// The cell's value, shown: for a call whose value nobody else gets (core.shown of the library).
void call_result(call *c, cJSON *data);
// A live log: the bytes of display_text are spooled and shown as the display itself. folded: below
// the cell stands only how much there is; it is read on request.
display *call_log(call *c, const char *title, bool folded, err *e);
