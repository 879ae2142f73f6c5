// SPDX-License-Identifier: MIT
// The only fold over a journal: takes events (script/protocol/message.def) and computes the state
// of the run. Attach, show, export, diff, resume and tests all read a run through it. It owns
// everything that it returns; pointers are valid until the next event.
#pragma once
#include "base/err.h"
#include "base/json/json.h"
#include "script/notebook/notebook.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CELL_STATES(X)                                                                             \
    X(IDLE, "idle")                                                                                \
    X(QUEUED, "queued")                                                                            \
    X(RUNNING, "running")                                                                          \
    X(OK, "ok")                                                                                    \
    X(FAILED, "failed")                                                                            \
    X(CANCELLED, "cancelled")                                                                      \
    X(STALE, "stale")

enum cell_state {
#define X(name, text) STATE_##name,
    CELL_STATES(X)
#undef X
};
const char *cell_state_name(enum cell_state s);

#define RUN_STATES(X)                                                                              \
    X(RUNNING, "running")                                                                          \
    X(OK, "ok")                                                                                    \
    X(FAILED, "failed")                                                                            \
    X(USAGE, "usage")                                                                              \
    X(REFUSED, "refused")                                                                          \
    X(TIMEOUT, "timeout")                                                                          \
    X(INTERRUPTED, "interrupted")                                                                  \
    X(STOPPED, "stopped")                                                                          \
    X(KILLED, "killed")

enum run_state {
#define X(name, text) RUN_##name,
    RUN_STATES(X)
#undef X
};
const char *run_state_name(enum run_state s);

// The outputs below a cell, in order. Adjacent texts of one stream are one output. Outputs of a
// branch stand together, where its first one came.
enum output_kind { OUTPUT_STREAM, OUTPUT_DISPLAY, OUTPUT_ERROR };
struct output {
    enum output_kind kind;
    char *name;    // STREAM: stdout or stderr; ERROR: the error's name
    char *branch;  // STREAM, DISPLAY: the cell's branch that made it; NULL: the cell itself
    int64_t id;    // DISPLAY
    char *text;    // STREAM: the text, NULL when spooled; ERROR: the message
    size_t text_n; // its length
    char *spool;   // STREAM: name of the spool, bytes [from, to)
    uint64_t from, to;
    cJSON *data;         // DISPLAY: MIME bundle with updates applied; ERROR: {traceback, line}
    bool live, result;   // DISPLAY
    unsigned updates;    // DISPLAY: number of updates
    struct rowset *rows; // DISPLAY: rows of its table, once rows have come; the fold's own
    bool rows_newer;     // DISPLAY: rows came after the last bundle: its text/plain is outdated
};

struct run_cell {
    char *id;
    enum cell_state state;
    long count;                   // execution count; 0: never; -1: unknown
    int64_t started, ended;       // wall ns, 0: not yet (a cancelled cell may only have ended)
    int64_t cleared;              // wall ns when its outputs were removed; 0: not since it ran
    int64_t mono_start, mono_end; // for durations
    bool resumed;                 // every effect was verified, none repeated
    char how[12];  // in a resumed run: "verified", "repeated" or "done"; "" without effects
    cJSON *used;   // globals: {reads, writes, touched, unknown, random} (message.def); NULL: none
    uint64_t ran;  // seq of its end
    char hash[65]; // SHA-256 of the source that ran last, "" if none
    struct output *outputs;
    size_t n_outputs;
    size_t weight; // for a cell that has left the document: about how much memory it takes
};

// An effect call. It is "left over" if it was made (or may have been, because it has no outcome),
// can be removed, and was not removed.
struct ledger_entry {
    int64_t entry, ordinal;
    int64_t mark; // the number that marks the objects it makes
    char *cell, *binding, *effect, *what;
    char *branch, *branch_key; // the cell's branch: its name, and its key; NULL: the cell itself
    char *source;              // hash of the cell's source
    char *arguments;           // their salted hash
    cJSON *made;               // without a result: what was made so far
    bool midway;               // something was made or announced, and not taken back
    cJSON *result;             // NULL until the outcome
    char *message;             // why it failed
    bool outcome, failed, verified, repeated, undone, masked;
    bool removable;   // its binding can undo it
    bool tidied;      // everything that it made was removed again; its result stays valid
    bool announces;   // it announces requests: without an announcement, no request was sent
    uint64_t drifted; // seq: when another's change was last accepted (--accept-drift); 0: never
};

typedef struct fold fold;

fold *fold_new(void);
void fold_free(fold *f);
// Adds an event. Errors: ERR_INVALID for a record that does not fit the format. Unknown types are
// skipped.
int fold_event(fold *f, const cJSON *record, err *e);
// A document that was parsed already, with which the run will probably begin: if it does, it is not
// parsed again. The fold takes it.
void fold_expect(fold *f, notebook *nb);
// Keeps only the first n rows of each table, and of each addition to one, for a program that prints
// rows as they come. 0: keeps all.
void fold_keep_rows(fold *f, size_t n);
// Folds a whole file. Corrupt lines are counted and skipped; *first_bad (may be NULL) describes the
// first. A file with only corrupt lines is an error.
fold *fold_file(const char *path, err *first_bad, err *e);
// The same without what cells have printed and shown, the largest part of a long run: for lists of
// runs.
fold *fold_without_outputs(const char *path, err *e);
bool fold_only_shown(const char *line, size_t n); // a line that it leaves out
// The same as fold_file for programs that show the run: also calls fold_abandon if nobody writes
// the file.
fold *fold_shown(const char *path, err *first_bad, err *e);
void fold_abandon(fold *f); // its kernel is gone: a run without an end becomes KILLED

// The run.
const char *fold_run(const fold *f);            // its name
const notebook *fold_notebook(const fold *f);   // the latest state of the document
const cJSON *fold_first(const fold *f);         // the "run" record
const cJSON *fold_last_start(const fold *f);    // the same, or the last "resumed" record
const cJSON *fold_cluster(const fold *f);       // the last "cluster" event, or NULL
enum run_state fold_state(const fold *f);       // RUNNING until there is an end
int fold_exit(const fold *f);                   // exit code of the end record, -1: none
const char *fold_message(const fold *f);        // in the end record, or NULL
const struct output *fold_error(const fold *f); // error of the run as a whole, or NULL
int64_t fold_started(const fold *f);            // wall ns
int64_t fold_last(const fold *f);               // wall ns of the last record
// Monotonic ns until the last record, summed over resumes. A killed run may have lasted longer;
// that is unknown.
int64_t fold_duration(const fold *f);
// A kernel writes the run's journal at this time (clock_mono): a run without an end then still
// runs. Its duration is until then.
void fold_goes_on(fold *f, int64_t mono);
uint64_t fold_seq(const fold *f);
uint64_t fold_turns(const fold *f); // changes whenever states, records or texts that cells depend
                                    // on do
size_t fold_corrupt(const fold *f); // number of unreadable lines
// Cells, in the document's order, without those that have left the document. If one comes back (its
// deletion was undone), its outputs come back, too.
size_t fold_count(const fold *f);
const struct run_cell *fold_cell(const fold *f, size_t i);
const struct run_cell *fold_cell_by_id(const fold *f, const char *id, size_t *i);
// Cells that have left the document, with the outputs that would come back.
size_t fold_gone_count(const fold *f);
const struct run_cell *fold_gone(const fold *f, size_t i);
size_t fold_in_state(const fold *f, enum cell_state state); // how many of them are in the document
const struct run_cell *fold_running(const fold *f);         // the running cell; NULL: none
// A global that the cell read and another cell has changed since; NULL: none. Changes inside of a
// table may go unnoticed.
const char *fold_moved(const fold *f, const struct run_cell *c);
bool fold_has_word(const char *text, const char *word); // does the name occur in the text?
// The display with this id, in any cell, and its cell; NULL: none.
const struct output *fold_display(const fold *f, int64_t id);
const struct run_cell *fold_display_cell(const fold *f, int64_t id);
// What the run was about and what came out, new: {params = {lr = 0.1}, metrics = {loss = {value,
// step, n, min, max}}, tags = {}, artifacts = {name = {path, size, sha256}}, and what it depended
// on: inputs = {file = {size, sha256}}, images, environment, versions; and pods = {uid = what it
// asked for and used}, as script/journal/runs/cost.h has it}. Params are the notebook's
// and run.param's. Metrics are those of trainings (an evaluation counts as the last value) and
// run.metric's, with "nan", "inf" and "-inf" where JSON has no number. A cell's records count until
// it runs again. Branches of a cell run concurrently: if several recorded the same name, the branch
// whose name sorts last wins, and the cell's own value wins over any branch's.
cJSON *fold_results(const fold *f);
// The parameters with which its cells ran, new: {name: value}: those of its start, unless their
// cell was edited and ran again.
cJSON *fold_params(const fold *f);
// Its child records (trials, measurements), new: [{run = "RUN/NAME", parent, of, state, began (wall
// ns), seconds, params, metrics, tags, artifacts}, …]. Trials also have by, the metric that orders
// them, and mode ("max", "min"). What children record is not the run's own.
cJSON *fold_children(const fold *f);
// Every child that the run has ever recorded, by name, in its last version, new: for a kernel that
// resumes the run.
cJSON *fold_past_children(const fold *f);
// Turns the fold into the run's child of this name: its own results, outputs and state. Errors:
// ERR_NOT_FOUND.
int fold_narrow(fold *f, const char *name, err *e);
bool fold_is_child(const fold *f);
// The history of its metrics, new: {loss = [{value, step, wall}, …]} in order of arrival. A
// training's epochs are its steps, and come before run.metric's. A value without a step has none
// here.
cJSON *fold_history(const fold *f);
cJSON *fold_child_history(const fold *f, const char *name); // the same for a child of the run
// The same without JSON, for charts of millions of values: what one cell, or one branch of it, has
// recorded of a metric. Borrowed until the next event; a series keeps its place, and its points are
// only added to while its `age` is the same.
#define METRIC_NO_STEP INT64_MIN
struct metric_point {
    double value;
    int64_t step, wall; // step METRIC_NO_STEP: it has none
};
struct fold_series {
    const char *name, *child, *branch; // child NULL: the run's own; branch NULL: the cell itself
    const struct metric_point *points;
    size_t n;
    unsigned age;
};
size_t fold_series_count(const fold *f);
struct fold_series fold_series(const fold *f, size_t i);
// Calls `each` for every metric of every training's display, with its epochs as points, which are
// valid during the call.
struct fold_shown_series {
    struct fold_series series;
    int64_t display;
    unsigned updates;
};
void fold_trainings(
    const fold *f, void (*each)(void *arg, const struct fold_shown_series *s), void *arg);
// What a cell has used besides globals, new: {inputs, images, versions, programs, variables,
// objects = {name = what was recorded}}.
cJSON *fold_depends(const fold *f, const char *id);
// What cells have left besides globals, new: {id: ["file /work/data.csv", "variable LR", "object
// Job x in namespace y"]}.
cJSON *fold_left_by_cells(const fold *f);
// "Job x in namespace y": the object that an effect has made or changed; new, NULL: none.
char *fold_object(const struct ledger_entry *e);
// The path of a file that cells call "data.csv", "./data.csv" or otherwise: the same text for the
// same file; new.
char *fold_path(const fold *f, const char *name);
// Who recorded the value that counts for a name in "metrics" or "artifacts" of fold_results: a cell
// and its branch (NULL: the cell itself). The cell is NULL if no cell recorded it. Borrowed.
struct teller {
    const char *cell, *branch;
};
struct teller fold_teller(const fold *f, const char *list, const char *name);
// What branches of cells have recorded, new: {cell: {branch: {metrics, artifacts, …}}}, each as in
// fold_results; without children and branches below these.
cJSON *fold_branches(const fold *f);
// How the run was made, new: {command, allow, seed, git = {commit, branch, root, dirty, files,
// diff} or {unknown}, cluster = {context, namespace, server, uid, version}, machine, host, cwd,
// path, from}. Fields that were not recorded are missing.
cJSON *fold_origin(const fold *f);
// Has it recorded the digest of any image?
bool fold_uses_images(const fold *f);
// Ledger.
size_t fold_ledger_count(const fold *f);
const struct ledger_entry *fold_ledger(const fold *f, size_t i);
bool ledger_left_over(const struct ledger_entry *l);
size_t fold_left_overs(const fold *f);
