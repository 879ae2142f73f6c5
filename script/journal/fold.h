// SPDX-License-Identifier: MIT
// The only fold over a journal: events (script/protocol/message.def) go in, the state of the run
// comes out. Attach, show, export, diff, resume and tests all read a run through it. It owns
// everything that it returns; pointers are valid until the next event.
#pragma once
#include "base/err.h"
#include "base/json.h"
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

// The outputs below a cell, in order. Neighbouring texts of one stream are one output. Those of a
// branch of the cell stand together, where its first one came.
enum output_kind { OUTPUT_STREAM, OUTPUT_DISPLAY, OUTPUT_ERROR };
struct output {
    enum output_kind kind;
    char *name;    // STREAM: stdout or stderr; ERROR: the error's name
    char *branch;  // STREAM, DISPLAY: the branch of the cell that made it; NULL: none
    int64_t id;    // DISPLAY
    char *text;    // STREAM: the text, NULL when spooled; ERROR: the message
    size_t text_n; // its length
    char *spool;   // STREAM: name of the spool, bytes [from, to)
    uint64_t from, to;
    cJSON *data;         // DISPLAY: MIME bundle with updates applied; ERROR: {traceback, line}
    bool live, result;   // DISPLAY
    unsigned updates;    // DISPLAY: number of updates
    struct rowset *rows; // DISPLAY: rows of its table, once rows have come; the fold's own
    bool rows_newer;     // DISPLAY: rows came after the last bundle: its text/plain is older
};

struct run_cell {
    char *id;
    enum cell_state state;
    long count;                   // execution count, 0: never, -1: nobody knows
    int64_t started, ended;       // wall ns, 0: not yet (a cancelled one may only have ended)
    int64_t cleared;              // wall ns when its outputs were removed; 0: not since it ran
    int64_t mono_start, mono_end; // for durations
    bool resumed;                 // every effect was verified, none repeated
    char how[12];  // in a resumed run: "verified", "repeated" or "done"; "" without effects
    cJSON *used;   // globals: {reads, writes, touched, unknown, random} (message.def); NULL: none
    uint64_t ran;  // seq of its end
    char hash[65]; // SHA-256 of the source that ran last, "" if none
    struct output *outputs;
    size_t n_outputs;
    size_t weight; // of a cell that has left the document: what it takes in memory, roughly
};

// An effect call. It is "left over" if it was made (or may have been: it has no outcome), can be
// removed, and was not.
struct ledger_entry {
    int64_t entry, ordinal;
    int64_t mark; // the number that marks the things it makes
    char *cell, *binding, *effect, *what;
    char *branch, *branch_key; // of the cell: its name, and what tells it from others; NULL: none
    char *source;              // hash of the cell's source
    char *arguments;           // their salted hash
    cJSON *made;               // if it has no result: what was made so far
    bool midway;               // something was made or announced, and not taken back
    cJSON *result;             // NULL until the outcome
    char *message;             // why it failed
    bool outcome, failed, verified, repeated, undone, masked;
    bool removable;   // its binding can undo it
    bool tidied;      // it has removed what it made, and its result holds
    bool announces;   // requests are announced first: if none was, none was sent
    uint64_t drifted; // seq: somebody else's change was accepted last (--accept-drift); 0: never
};

typedef struct fold fold;

fold *fold_new(void);
void fold_free(fold *f);
// Adds an event. Errors: ERR_INVALID for a record that does not fit the format. Unknown types are
// skipped.
int fold_event(fold *f, const cJSON *record, err *e);
// The document with which the run will probably begin, as somebody else has read it: if that comes
// true, it is not read again. The fold takes it.
void fold_expect(fold *f, notebook *nb);
// Keeps only the first n rows of each table, and of each addition to one: a program that prints
// rows as they come needs no more. 0: keeps all.
void fold_keep_rows(fold *f, size_t n);
// Folds a whole file. Corrupt lines are counted and skipped; *first_bad (may be NULL) describes the
// first. A file that has no others is an error.
fold *fold_file(const char *path, err *first_bad, err *e);
// The same without what cells have printed and shown, which is most of a long run: for lists of
// runs.
fold *fold_without_outputs(const char *path, err *e);
// The same as fold_file for those who show the run; fold_abandon is called when nobody writes the
// file.
fold *fold_shown(const char *path, err *first_bad, err *e);
void fold_abandon(fold *f); // its kernel is gone: a run that has no end was KILLED

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
// Monotonic ns until the last record, summed over resumes. A killed run may have gone on for
// longer: nobody knows for how long.
int64_t fold_duration(const fold *f);
// A kernel writes the run's journal at this time (clock_mono): if the run has no end it is still
// going on. Its duration is until then.
void fold_goes_on(fold *f, int64_t mono);
uint64_t fold_seq(const fold *f);
uint64_t fold_turns(const fold *f); // counts what cells depend on: states, records, texts
size_t fold_corrupt(const fold *f); // number of unreadable lines
// Cells, in the document's order. A cell that leaves the document is no longer among them. If it
// comes back (its deletion was undone), its outputs come back, too.
size_t fold_count(const fold *f);
const struct run_cell *fold_cell(const fold *f, size_t i);
const struct run_cell *fold_cell_by_id(const fold *f, const char *id, size_t *i);
// Cells that have left the document, with the outputs that would come back.
size_t fold_gone_count(const fold *f);
const struct run_cell *fold_gone(const fold *f, size_t i);
size_t fold_in_state(const fold *f, enum cell_state state); // how many cells are
const struct run_cell *fold_running(const fold *f);         // the one that runs; NULL: none
// A global that the cell read and another cell has changed since; NULL: none. What is in a table
// may have changed without that.
const char *fold_moved(const fold *f, const struct run_cell *c);
bool fold_has_word(const char *text, const char *word); // does it stand in the text?
// The display with this id, in any cell, and its cell; NULL if none.
const struct output *fold_display(const fold *f, int64_t id);
const struct run_cell *fold_display_cell(const fold *f, int64_t id);
// What the run was about and what came out, new: {params = {lr = 0.1}, metrics = {loss = {value,
// step, n, min, max}}, tags = {}, artifacts = {name = {path, size, sha256}}, and what it depended
// on: inputs = {file = {size, sha256}}, images, environment, versions}. Params are the
// notebook's and run.param's; metrics are those of trainings (an evaluation counts last) and
// run.metric's, "nan", "inf" and "-inf" where JSON has no number. What a cell recorded counts until
// it runs again. Branches of a cell run side by side: if several recorded the same name, the value
// of the branch whose name sorts last counts; the cell's own value counts more than any branch's.
cJSON *fold_results(const fold *f);
// The parameters with which its cells ran, new: {name: value}. Those of its start, unless their
// cell was edited and ran again.
cJSON *fold_params(const fold *f);
// Its child records (trials, measurements), new: [{run = "RUN/NAME", parent, of, state, began
// (wall ns), seconds, params, metrics, tags, artifacts}, …]; by: the metric to go by, and mode
// ("max", "min") of trials. What they record is not the run's own.
cJSON *fold_children(const fold *f);
// Each child that the run has ever left, by its name, as it was told last, new: for a kernel that
// resumes it.
cJSON *fold_past_children(const fold *f);
// From now on the fold is what the run's child of this name is: its own results, outputs and state.
// Errors: ERR_NOT_FOUND.
int fold_narrow(fold *f, const char *name, err *e);
bool fold_is_child(const fold *f);
// How its metrics moved, new: {loss = [{value, step, wall}, …]} in the order in which they came; a
// training's epochs are its steps, and come before run.metric's; what has no step has none here.
cJSON *fold_history(const fold *f);
cJSON *fold_child_history(const fold *f, const char *name); // the same of the run's child
// What a cell has used beside globals, new: {inputs, images, versions, programs, variables,
// objects = {name = what was recorded}}.
cJSON *fold_depends(const fold *f, const char *id);
// What cells have left beside globals, new: {id: ["file /work/data.csv", "variable LR", "object Job
// x in namespace y"]}.
cJSON *fold_left_by_cells(const fold *f);
// "Job x in namespace y": the object that an effect has made or changed; new, NULL: it is none.
char *fold_object(const struct ledger_entry *e);
// The path of a file that cells name "data.csv", "./data.csv" or otherwise: one text for one file;
// new.
char *fold_path(const fold *f, const char *name);
// Who recorded the value that counts for a name in "metrics" or "artifacts" of fold_results: a cell
// and its branch (NULL: the cell itself). The cell is NULL if nobody recorded it. Borrowed.
struct teller {
    const char *cell, *branch;
};
struct teller fold_teller(const fold *f, const char *list, const char *name);
// What branches of cells have told, new: {cell: {branch: {metrics, artifacts, …}}}, each as in
// fold_results; without children and what is below them.
cJSON *fold_branches(const fold *f);
// Where it came from, new: {command, allow, seed, git = {commit, branch, root, dirty, files, diff}
// or {unknown}, cluster = {context, namespace, server, uid, version}, machine, host, cwd, path,
// from}. What was not recorded is not there.
cJSON *fold_origin(const fold *f);
// Has it recorded the digest of any image?
bool fold_uses_images(const fold *f);
// Ledger.
size_t fold_ledger_count(const fold *f);
const struct ledger_entry *fold_ledger(const fold *f, size_t i);
bool ledger_left_over(const struct ledger_entry *l);
size_t fold_left_overs(const fold *f);
