// SPDX-License-Identifier: MIT
// A binding: one operation for cells, as a record of C functions from JSON to JSON. The kernel owns
// calls, arguments and results. A binding knows neither Lua nor the journal.
//   Lua (script/api)          kernel                               binding (script/api)
//   k8s.create(x) ── args ──> gate → ledger: intent → start(call, args) ──> result
//        ▲                         resume: known call → verify(call, args, recorded)
//        └─ handle from JSON <──── ledger: outcome ◄── result as JSON
//                                  clean, and resume before it repeats: find → undo
// The functions run on the Lua thread, or on the thread of the actions (below). They block only in
// call_*, and return soon after the call's canceller was used. Results are JSON without secrets; a
// handle can be rebuilt from its JSON alone.
#pragma once
#include "base/data/digest.h"
#include "base/err.h"
#include "base/json/json.h"
#include "base/loop/loop.h"
#include "base/work.h"
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

// The running call, as a binding sees it. Opaque; the kernel owns it.
typedef struct call call;

// What a call would change: for the gate, the question and the ledger. Strings are new, or NULL.
struct about {
    char *what;   // "create SparkApplication mnist in namespace default of context kind"
    char *object; // "SparkApplication mnist"
    char *context, *namespace_; // NULL: the chosen cluster's
};

// The result of verifying an effect of an earlier kernel.
enum verdict {
    VERDICT_NO,     // it is not so any more, or never was: do it again
    VERDICT_YES,    // it was checked, and is still true
    VERDICT_REPEAT, // cannot be verified: do it again and compare the result
    VERDICT_AGAIN,  // the same, and the cell allows it although it reaches beyond this machine
};

// What `find` has found of an effect.
struct remains {
    cJSON *found; // for undo to remove; NULL: nothing of this run is there
    char *text;   // names what was found, or why nothing was: "was not there"
};

// What a look at one call has found (binding.look).
struct glance {
    char *seen;    // the state that was seen: if it is the same next time, no closer look is
                   // needed; or NULL
    char *why;     // "Job pi has changed: spec.parallelism"; NULL: it holds, or nobody can tell
    int64_t again; // clock_mono() ns of the next look
};

struct binding {
    const char *name; // the name in Lua: "k8s.create"
    effect effect;
    // Promises to call call_ledger_partial before each request is sent, and to take the record back
    // when the request was refused. Then an intent without a record means that no request was sent.
    bool announces;
    // It runs a program that calls other bindings (call_serve). Those are verified one by one. So
    // after a failure, or after the kernel was killed, the program is started again as if it had
    // ended well, and its own entry need not be on the disk before it: it is synced with the next
    // one.
    bool around;
    // The members of its result that are output of programs (said.h), NULL-terminated; the journal
    // keeps only the beginning and the end of a long one. NULL: none.
    const char *const *said;
    // Does the operation. Returns 0 and a new result (NULL becomes null in Lua), or -1. An effect
    // that fails midway reports what it has done so far with call_ledger_partial.
    int (*start)(call *c, const cJSON *args, cJSON **result, err *e);
    // Checks whether `recorded` is still true. Returns a verdict, or -1 when that cannot be found
    // out. With VERDICT_YES, *result is the result to return, NULL for the recorded one. verify
    // NULL: nothing is verified, always done again. recorded is the outcome; without an outcome it
    // is what was announced; or NULL.
    int (*verify)(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e);
    // Finds what is left of `recorded` (as in verify, never NULL) and certainly belongs to this
    // run. -1: that cannot be found out. A binding has both find and undo, or neither.
    int (*find)(call *c, const cJSON *recorded, struct remains *out, err *e);
    // Removes what `find` has found; it is no error if it is gone.
    int (*undo)(call *c, const cJSON *found, err *e);
    // Checks every few seconds, for people, whether `result` has changed outside. Records and
    // changes nothing; on an error, `g` stays as it was. NULL: there is nothing to check.
    void (*look)(call *c, const cJSON *args, const cJSON *result, struct glance *g, err *e);
    // Describes what the call would change. NULL: the binding's name says enough.
    void (*describe)(call *c, const cJSON *args, struct about *about);
};

// An action: a key with which a client can act on a row of a table, also while a cell runs. It
// calls a binding; its arguments are the row's object (its `about`, namespace, name and uid) and
// those here. Tables list the actions of their rows in their JSON (doc/displays.md). An action that
// stands alone needs no row: its arguments come with the message.
struct display_action {
    const char *name;    // "describe"
    const char *binding; // "k8s.describe"; results: a text, {"display": number}, or others
    const char *more;    // further arguments, as JSON; NULL: none
    const char *takes;   // the argument that gets the text typed by the person; NULL: none is typed
    bool alone;
    bool several;  // a message may name many rows: asks one question, makes a call for each
    bool together; // a message may name many rows: one call, with their arguments in "objects"
    // A pure binding that is called before the question, with the same arguments. Its result is
    // added to the arguments, with three exceptions. "diff" is shown in the question. "nothing"
    // says why there is nothing to do, and is the reply. {"display": number} is the reply, too: in
    // this display a person chooses the object. NULL: no such call.
    const char *first;
    bool asks;   // asks although the binding is pure: what it returns goes, as it is, to the person
                 // who said yes and nowhere else, also where it holds secrets
    bool silent; // what `takes` names may be missing
    bool told;   // only the client that asked gets the result, although the binding is not pure
};

// Services for bindings. Call them only on the call's thread, except where noted.
loop *call_loop(call *c);
canceller *call_canceller(call *c);
bool call_goes_on(void *c);     // it is not cancelled; the type fits sha256_read
int64_t call_deadline(call *c); // clock_mono() ns of the cell's time limit, 0: none
bool call_is_action(call *c);   // a person waits after pressing a key: return soon
const char *call_cwd(call *c);  // the working folder, for relative names
const char *call_run(call *c);  // name of this run, for labels
// The name of the notebook's file, and git's commit at the start of the run; NULL: unknown.
const char *call_notebook(call *c);
const char *call_commit(call *c);
const char *const *call_env(
    call *c); // environment for children, with %env and the gate's KUBECONFIG
// Call it before a program starts that a cell has named: if its cell may use the cluster, nobody
// knows what the program does there (effects_reached).
void call_note_programs(call *c);
// May the cell's programs use the cluster by themselves? Its effects= decides. In a notebook from
// elsewhere, where no cell declares anything, --allow decides, or a person, who is asked if
// `may_ask`.
bool call_has_cluster(call *c, bool may_ask);
// A new environment for a program that outlives its cell, and so never may use a cluster.
char **call_lasting_env(call *c);
// The folder for sockets and the like; only this user can enter it.
const char *call_runtime(call *c);
bool call_is_headless(call *c); // nobody can be asked
// Asks a person and waits; the answer is new. NULL: ERR_CANCELLED, or ERR_REFUSED if nobody can be
// asked. A secret answer is masked from then on.
char *call_ask(call *c, const char *question, bool secret, err *e);
// Call it before a call fails: the error as another language reports it, {name, message, traceback:
// [texts]}, becomes the cell's error. Takes it.
void call_failed(call *c, cJSON *told);
// The names that the cell's program has read and set, as in cells/reads.h. Takes it.
void call_used(call *c, cJSON *used);
// Serves a request of a program that the binding runs: calls the function of that name in
// core.hooks of script/api, with JSON. Only for calls of a cell, on its thread. Takes args. *result
// is new. -1: the turn has to stop, or the call is a branch's.
int call_serve(call *c, const char *hook, cJSON *args, cJSON **result, err *e);
// Paths that cli/ has found; NULL: the file does not exist.
struct call_paths {
    const char *worker, *plugin, *spark_main; // programs, and files that are installed with them
    const char *jupyter;                      // the program that runs between us and a Jupyter
                                              // kernel
    const char *python;                       // the folder of the Python module firesteel
    const char *dnn;                          // the plug-in that uses oneDNN
    const char *firesteel, *kernel;           // the command line, and the kernel's own program
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
// Call it before sending anything to the cluster. Returns -1 with the reason when the cluster is
// gone for good, such as a private sandbox that has died. If the cluster goes later, a call that
// waits for it is cancelled and fails with the same reason.
int call_reach_cluster(call *c, err *e);
// For the status line. The first: this call talks to the cluster's server; the end of the call
// tells the kernel whether the server answered. The second: the server cannot be reached now, and
// the call keeps trying.
void call_asks_server(call *c, bool does);
void call_server_away(call *c, const err *reason);
// Registers bytes that must never get into journal, spools or reports.
void call_secret(call *c, const char *secret);
// The same for objects that outlive a call: returns a function for any thread, and its first
// argument.
typedef void call_secret_fn(void *arg, const char *secret);
call_secret_fn *call_secrets(call *c, void **arg);
// Does the text contain such bytes?
bool call_is_secret(call *c, const char *text);
// Writes text to the cell's output; name is "stdout" or "stderr". From any thread.
void call_output(call *c, const char *name, const char *bytes, size_t n);
// Sets result.NAME to a program's output (binding.said), and counts the bytes that were left out.
// said_output is for bindings whose member is "output".
extern const char *const said_output[];
void call_said(cJSON *result, const char *name, const char *text, uint64_t left_out);
// Records what the cell depends on, for comparing runs: kind is "input", "image" or "version".
// Takes the value.
void call_recorded(call *c, const char *kind, const char *name, cJSON *value);
// The same of the run as a whole, for objects that outlive a call: returns a function for the
// loop's thread, and its first argument. At the run's end it does nothing any more.
typedef void call_record_fn(void *arg, const char *kind, const char *name, cJSON *value);
call_record_fn *call_recorder(call *c, void **arg);
// What differs from the last run in which this cell, of an action the whole notebook, ended well:
// "RUN: parameter gpus: 0 → 1; …", new; NULL: there is none. It reads journals.
char *call_last_good(call *c);
// Records which cluster is used: {uid, version}, of the namespace kube-system and of the server.
// Takes it. Once in a run is enough; the second function says whether it was recorded.
void call_learned_cluster(call *c, cJSON *cluster);
bool call_knows_cluster(call *c);
// Records what an effect is about to do, or has done so far, so that verify and find know where to
// look after any failure. If this returns 0, the record is on the disk; if -1, do not send the
// request. A JSON null takes the record back: the request was certainly refused.
int call_ledger_partial(call *c, const cJSON *made, err *e);
// Records that everything this effect made was removed again: clean has nothing to do, and the
// result stays valid.
void call_ledger_tidied(call *c);
// The label value that marks the objects of this effect. No other effect of any run has it. If a
// resumed run repeats the effect, the mark stays the same. NULL: the call is no effect.
const char *call_mark(call *c);
// Is this the mark of an effect of this run?
bool call_is_marked(call *c, const char *mark);
// The digest of a value that must not be in the journal. It is the same in a resumed run, and
// differs between runs.
void call_digest(call *c, const cJSON *value, char hex[SHA256_HEX]);
// While verifying or looking: has a later effect of the run changed or deleted the object with this
// uid? `set` is an object or NULL. With `set`, later effects whose result lists the fields that
// they set (member "set") do not count; their fields are added to `set`.
bool call_changed_later(call *c, const char *uid, cJSON *set);
// While verifying: these fields (an array of texts) differ from what the effect left. Returns 0 if
// the run may accept that, else -1 with ERR_REFUSED.
int call_drift(call *c, const cJSON *fields, err *e);
// Did masking remove a secret from this recorded text?
bool call_is_hidden(const char *text);
// A new folder of mode 0700 in $TMPDIR, "firesteel-NAME-…", or in `parent`. It is removed by
// call_drop_temp or at the kernel's end. If the kernel is killed, its guard or the next verb
// removes it. The path is the caller's. From any thread.
char *call_temp(call *c, const char *name, const char *parent, err *e);
void call_drop_temp(call *c, const char *path); // NULL is fine
// Does the cell's output go to a variable?
bool call_is_captured(call *c);
// Call it after deleting an object: settles the ledger entries of the effect that made it, those
// whose result has this uid ("uid", or "metadata": {"uid"}).
void call_ledger_gone(call *c, const char *uid);

// Shows a display below the cell. `data` is a MIME bundle that has "text/plain". A live display
// outlives the call, and is fed from the loop's thread until it is closed (display.h). Returns NULL
// unless it is live. May be called from the loop's thread, too, while the call waits for it.
display *call_display(call *c, cJSON *data, bool live);
// A copy of the bundle that has text/plain in any case, with Jupyter's metadata of it; new.
cJSON *call_bundle(const cJSON *data, const cJSON *metadata);
// Shows below the cell how far long work is (port/works.h): begins the record, and ends it before
// it goes. Work that is over in a second is never shown.
void call_work(call *c, struct work *w, const char *what, enum work_unit unit, const char *noun);
// The same for a record that has begun already, so that others may have changed it.
void call_work_shown(call *c, struct work *w);
void call_work_end(call *c, struct work *w);
// Removes what the cell has shown so far, and ends its displays. On the loop's thread.
void call_clear(call *c);
// Shows the cell's value, for a call whose value only the display gets (core.shown of the library).
void call_result(call *c, cJSON *data);
// A live log: the bytes of display_text are spooled and shown as the display itself. folded: below
// the cell only its size is shown; people open it to read it.
display *call_log(call *c, const char *title, bool folded, err *e);
