// SPDX-License-Identifier: MIT
// The inside of the bench: its knowledge of the open notebook, and the functions that its files
// share. Only the files of this folder and of those below it include it; views include
// tui/bench/view.h.
//
//   bench ── top ──> help ──> notebook
//     ├── fold      the run, from the kernel's events
//     └── slots     one for each cell: its text as it is edited here, and its drawing
#pragma once
#include "base/data/digest.h"
#include "base/data/hashmap.h"
#include "base/data/pattern.h"
#include "script/journal/replay.h"
#include "tui/bench/drawing.h"
#include "tui/bench/history.h"
#include "tui/bench/remote.h"
#include "tui/bench/view.h"
#include "tui/edit/keymap.h"
#include "tui/part/past.h"

struct slot {
    char *id;
    char *marker;
    edit *edit;
    syntax_language language;
    uint64_t sent;   // revision of the text that the kernel has
    unsigned asked;  // how many texts of ours the kernel has not answered yet
    int64_t base;    // revision of the kernel's text on which this one is based
    int64_t made;    // revision that the kernel made of our last text: older events are ignored
    bool contested;  // somebody else's text replaced ours; undo brings ours back
    uint64_t hashed; // revision of the text with this hash
    char hash[SHA256_HEX];
    unsigned version;      // counts the changes of its output
    cJSON *works;          // long work that it does now: the last message of each; NULL: none
    bool forgotten;        // what earlier runs left there is not to be shown
    char letter;           // by which a person comes back to it; 0: none
    cJSON *problems;       // what a check has found (document/problems.c); NULL: nothing
    uint64_t checked_turn; // and for which text it was asked for
    struct drawing drawing;
};

struct bench {
    const struct bench_ops *ops;
    void *arg;
    char *path, *target, *temporary, *runtime, *gallery;
    album *album;
    bool ascii, mono, forgets, no_ask;
    const struct settings *settings; // never NULL
    struct settings *usual;          // where none were given
    enum background background;
    struct theme theme;
    const char *agreed; // what a person has just agreed to lose (loss.c); NULL: nothing

    fold *fold;
    unsigned events;             // counts the events that went into it
    unsigned typed;              // counts the changes that a person made to texts
    struct staleness *staleness; // which cells do not hold any more; NULL: nobody has asked
    fold *incoming;              // of a kernel whose past is still arriving; else NULL
    cJSON *document;             // its document, at the end of that past
    uint64_t caught_up;
    int64_t looked;   // newest event that a person has seen of this kernel; 0: none has looked
    cJSON *meanwhile; // ids of the cells that ended after it, in order
    struct slot **slots;
    size_t n_slots;
    hashmap *slot_at; // index of a cell's slot by its id

    client *client;
    cJSON *greeting;  // of each hello; or NULL
    char *joined;     // what is said of the kernel that was joined; NULL: nothing
    int64_t lifetime; // ms that the kernel stays when nobody uses it
    int64_t rev;
    bool saved, read_only, restarting;
    bool touched;    // the file has changed beside unsaved text, and that is still to be shown
    bool looks;      // it is attached with --read-only
    bool no_effects; // the kernel runs with it
    char *run, *state, *spool_dir;
    cJSON *asks;       // the events of the open questions, oldest first; "later": true if put off
    cJSON *cluster;    // the newest "cluster" event, or NULL
    struct head *head; // the notebook in git's HEAD; NULL: there is none
    struct {
        size_t from, to;         // the cells that are on the screen
        bool all;                // all cells are to be checked, not only those
        enum action then;        // what `on` does when all are known
        const view *on;          // only compared, never followed
        bool asks;               // the kernel is asked now
        bool deaf;               // and does not know the question
        uint64_t turn;           // grows when what was found does not hold any more
        char *context;           // of the cluster that it was found for
        buf said;                // of the place where the cursor is, for the last row
        bool warns;              // it is no error
    } problems;                  // document/problems.c
    struct memory *memory;       // what earlier runs have left; NULL: nothing
    struct replaying *replaying; // a run from its journal; NULL: it is a kernel's
    struct peek *peeks;
    struct {
        char *context, *ns; // NULL: those of the run
        bool all;           // all namespaces
        cJSON *visited;     // what tables were asked for with, oldest first; NULL: none
        int at;             // which of them is looked at
        cJSON *kinds;       // that the cluster there has, as k8s.kinds tells; NULL: not known yet
        bool asked;         // for them
        uintptr_t places;   // contexts that were left: what they still answer is not taken
    } desk;                 // where tables of the desk look
    struct {
        cJSON *rows, *notes; // as the kernel has told them last; NULL: not yet
        int64_t more;
        bool all;          // with what is hidden
        bool asked, again; // an answer is on its way; and there is more to ask then
    } variables;
    struct history *history;
    struct inserting *inserting; // what was read of the gallery; NULL: nothing yet
    char *rescue; // text of a cell that was edited here and deleted by another client
    char *rescue_marker;
    size_t rescue_at;
    pos rescue_cursor;
    bool rescue_due;  // it has to go into a new cell
    char *rescued;    // id of that cell, until it is selected; no other one is edited meanwhile
    bool reloading;   // the document is replaced: its file was read again
    char *select;     // id of a cell to select as soon as it exists
    bool select_asks; // because it asks
    bool select_edit; // to edit it
    bool untouched;   // it is edited, and no key has come since

    unsigned asked;     // unanswered requests for which typing waits
    int64_t made, seen; // newest revision in the kernel's replies, and newest one shown
    int64_t held_at;    // mono ns: when the first key in `held` came
    struct typed *held; // keys and pastes that wait for these replies
    size_t n_held;

    view *top;
    struct key_input input;
    buf clipboard;                 // text
    cJSON *cells;                  // cut or copied cells: [{marker, source}…]
    buf search;                    // the words that are searched for
    struct pattern search_pattern; // the same
    struct past past;              // searches and filters that were typed
    bool wraps, numbers;           // lines of cells
    bool marks;                    // what is searched for is marked
    const struct slot *edited;     // in the notebook; only compared, never followed
    buf say;                       // the last notice
    buf said;                      // the last ones, a line each, for :messages
    bool said_error, dirty;
    bool has_mouse;     // it is ours now
    int64_t busy_since; // mono ns, 0: nothing runs
    bool failed;        // a cell has since then
    int64_t edited_at;  // mono ns of the last typed change, 0: all is sent
    int64_t file_stamp; // of the document's file when it was the same, wall ns
    int64_t typed_at;   // mono ns of the last key
    int64_t refused_at; // and of the last one that a dialog did not take
    int w, h;
    int caret_x, caret_y; // the cursor of the view below the top one; x < 0: none
    grid *scratch;
    buf farewell;
};

// view.c
int view_wait_ms(const view *v); // until one that asks takes keys; -1: it does
// Its filter's part of an action, a key without a binding, a paste; else its own.
bool view_filters(view *v, enum action a); // false: not an action of its filter
bool view_type(view *v, key k);            // these two: false: it means nothing there
bool view_paste(view *v, const char *words, size_t n);

// bench.c
bool bench_busy(const bench *b);
void bench_starts(bench *b);         // something is opened: its kernel will answer
void bench_key_now(bench *b, key k); // for a key that need not wait
// Are these Esc and another key in one packet? They are if Alt with that key is not bound here.
bool bench_is_two_keys(const bench *b, key k);
void bench_paste_now(bench *b, const char *words, size_t n);

// typeahead.c: keys that came before the kernel had carried out an earlier one.
struct typed {
    key key; // 0: pasted text
    char *text;
    size_t n;
};
// Keeps a key (or with 0, a paste) that has to wait; false: it can be done now.
bool typeahead_hold(bench *b, key k, const char *words, size_t n);
// Takes the next key that need not wait any more; its text is the caller's; false: none.
bool typeahead_take(bench *b, struct typed *one);
bool typeahead_waits(const bench *b);  // a key would have to wait now
int typeahead_wait_ms(const bench *b); // -1: nothing waits
void typeahead_free(bench *b);

// works.c: long work of cells, as the kernel tells it from time to time.
void works_event(bench *b, const cJSON *event);
void works_forget(bench *b); // who did it is gone

// slots.c
void slots_follow(bench *b);                      // after the document has changed
void slots_follow_cell(bench *b, const char *id); // after only this cell's text has
void slots_age(bench *b);                         // ages are shown: draw again
void slots_free(bench *b);

// document/inserting.c
void inserting_done(bench *b);

// document/staleness.c
void staleness_free(bench *b);
int staleness_wait_ms(const bench *b); // until files are to be looked at; -1: there are none
void staleness_tick(bench *b);
unsigned staleness_looked(bench *b); // counts what looks have found
// What the last one has found of an earlier run, {id: why}; new.
cJSON *staleness_outside(bench *b, const char *run);
bool slot_unsent(const struct slot *s);

// structure.c: puts the text that was typed in a deleted cell into a new one.
void structure_rescue(bench *b);
// The new one was not made: its place was deleted meanwhile, or its kernel is gone. Once more.
void structure_rescue_again(bench *b);

// variables.c: an event of the run, NULL: it is another one.
void variables_hear(bench *b, const cJSON *event);
void variables_free(bench *b);

// remote.c: changes cells, through history.h.
void remote_insert(
    bench *b, const char *id, const char *after, const char *marker, const char *source);
void remote_delete(bench *b, size_t i);
void remote_move(bench *b, const char *id, const char *after);
void remote_edit(bench *b, size_t i, const char *marker); // with the text of its slot
void remote_restart(bench *b);
void remote_answer(bench *b, int64_t ask, const char *value);
// Takes the message. `done` gets the reply, or NULL when the kernel was gone first.
void remote_ask(
    bench *b, cJSON *message, void (*done)(bench *b, void *arg, const cJSON *reply), void *arg);
// Shown during an interrupt; events.c shows its end.
#define SAYS_INTERRUPTING "interrupting"
#define SAYS_RESTARTING   "restarting the kernel"
#define SAYS_STARTING     "another kernel starts"

// peeks.c
void peeks_event(bench *b, const cJSON *event);
void peeks_pinned(bench *b, int64_t display); // it is part of the run now
void peeks_free(bench *b);

// desk.c
void desk_done(bench *b);

// times/meanwhile.c: what has happened since somebody last looked.
void meanwhile_begin(bench *b, const cJSON *welcome);
void meanwhile_event(bench *b, const cJSON *event); // of a past that comes in
void meanwhile_say(bench *b);                       // when it has

// questions.c
void questions_add(bench *b, const cJSON *event);
void questions_close(bench *b, int64_t ask);
void questions_forget(bench *b); // all of them: nobody waits for an answer any more
// Shows the oldest open question, unless somebody types; `again`: also one that was put off.
// false: there is none.
bool questions_offer(bench *b, bool again);
int questions_wait_ms(const bench *b); // until a question should be shown, -1: none

// document/saving.c
void leave_or_ask(bench *b);         // asks when something is unsaved
void leave_now(bench *b, bool stop); // the farewell says what still runs

// document/problems.c
int problems_wait_ms(const bench *b); // until cells are to be checked; -1: none are
void problems_tick(bench *b);
void problems_say(bench *b); // looks for what is wrong at the cursor
void problems_forget(bench *b);
void problems_free(bench *b);

// document/difference.c: what somebody who joins is shown first when the file has changed beside
// unsaved text
void difference_join(bench *b);

// document/orphan.c: for a kernel that has gone.
void orphan_note_file(bench *b); // the file now equals the document
bool orphan_unsaved(bench *b);
bool orphan_save(bench *b, const char *path, bool force); // path NULL: its own file
void orphan_start(bench *b);

// times/memory.c: what earlier runs have left below the cells.
bool memory_due(const bench *b);
void memory_work(bench *b);          // looks on for a few milliseconds
void memory_keep(bench *b);          // the kernel is left for another one
void memory_take(bench *b, fold *f); // takes that one's run, as the newest
// What goes below a cell of an .ipynb that is saved without a kernel: what it left in this run or
// in those before a restart, as it is shown. NULL: what the file has, also when it cannot be read
// (e).
cJSON *memory_outputs(bench *b, const char *id, long *count, err *e);
// Does an earlier run's output stand below the cell? *why: why that does not hold any more; stays
// as it is if it does.
bool memory_stale(bench *b, size_t i, const char **why);
// Adds the cells whose globals the wanted ones need, and which only earlier runs have made.
void memory_add_needed(bench *b, bool *wanted);
uint64_t memory_turns(const bench *b);   // counts its changes
void memory_list(bench *b, cJSON *list); // adds what outside_list says of these runs, "RUN/ID"
void memory_follow(bench *b);            // the cells have other ids
void memory_free(bench *b);

// find/head.c: the notebook in git's HEAD.
bool head_due(const bench *b); // it is to be read
void head_work(bench *b);
void head_forget(bench *b); // the file was saved or has another name: read it again
void head_free(bench *b);

// times/replaying.c: a run from its journal, whose state the bench's fold is.
struct replaying {
    replay *run;
    size_t at;            // the record after which it is shown
    int64_t began, ended; // wall ns
    int64_t *marks;       // when cells began
    size_t n_marks;
};
bool replaying_act(bench *b, enum action a);
void replaying_go(bench *b, const char *words); // to a time that was typed
void replaying_point(bench *b, int x);          // to this column of the time line
void replaying_free(bench *b);

// times/timeline.c: the last row of such a run.
void timeline_draw(const bench *b, grid *g, rect row);
rect timeline_bar(const bench *b, rect row); // where in it the time goes from left to right

// times/attention.c
void attention_join(bench *b); // all that the kernel had to tell of its past was heard
void attention_hear(bench *b, message_type type, const cJSON *m);

// status.c
bool status_ticks(const bench *b);            // does it show an age?
int status_rows(const bench *b, int columns); // the last row, and those of a long notice
void status_draw(const bench *b, grid *g, rect area, unsigned mode, const char *place);
