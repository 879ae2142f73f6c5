// SPDX-License-Identifier: MIT
// The bench's own: what it knows of the open notebook, and what its files do for one another. Only
// the files of this folder include it; a view has tui/view/view.h.
//
//   bench ── top ──> help ──> notebook
//     ├── fold      the run, from the kernel's events
//     └── slots     one for each cell: its text as it is edited here, and its drawing
#pragma once
#include "base/digest.h"
#include "base/hashmap.h"
#include "tui/bench/history.h"
#include "tui/bench/remote.h"
#include "tui/edit/keymap.h"
#include "tui/view/drawing.h"
#include "tui/view/view.h"

struct slot {
    char *id;
    char *marker;
    edit *edit;
    syntax_language language;
    uint64_t sent;   // revision of the text that the kernel has
    unsigned asked;  // texts of ours that the kernel has not answered
    int64_t base;    // revision of the kernel's text that this one is based on
    int64_t made;    // revision that the kernel made of our last one: older news are passed over
    bool contested;  // somebody else's text came instead of ours, which undo brings back
    uint64_t hashed; // revision of the text whose hash this is
    char hash[SHA256_HEX];
    unsigned version; // counts what happened to its output
    struct drawing drawing;
};

struct bench {
    const struct bench_ops *ops;
    void *arg;
    char *path, *target, *temporary;
    bool ascii;

    fold *fold;
    unsigned events; // counts those that went into it
    fold *incoming;  // of a kernel whose past is still coming in; else NULL
    cJSON *document; // its document, which that past leads to
    uint64_t caught_up;
    struct slot **slots;
    size_t n_slots;
    hashmap *slot_at; // index of a cell's slot by its id

    client *client;
    int64_t rev;
    bool saved, read_only, restarting;
    char *run, *state, *spool_dir;
    cJSON *asks;    // the events of the open questions, oldest first; "later": true once put off
    cJSON *cluster; // the newest "cluster" event, or NULL
    struct peek *peeks;
    struct history *history;
    char *rescue; // text of the cell that was edited here and deleted by another client
    char *rescue_marker;
    size_t rescue_at;
    pos rescue_cursor;
    bool rescued;   // it is in the new cell that gets selected
    bool reloading; // the whole document is another one: its file was read again
    char *select;   // id of a cell to be selected as soon as it is there

    unsigned asked;     // what the kernel has not answered and typing waits for
    int64_t made, seen; // newest revision that it answered with, and that is shown
    int64_t held_at;    // mono ns, when the first of `held` came
    struct typed *held; // keys and pastes that wait for these changes
    size_t n_held;

    view *top;
    struct key_input input;
    buf clipboard; // text
    cJSON *cells;  // cut or copied cells: [{marker, source}…]
    buf search;
    bool marks;                // what is searched for is marked
    const struct slot *edited; // in the notebook; only compared, never followed
    char say[240];
    bool said_error, dirty;
    int64_t edited_at;  // mono ns of the last typed change, 0: all is sent
    int64_t file_stamp; // of the document's file when it was the same, wall ns
    int64_t typed_at;   // mono ns of the last key
    int w, h;
    int caret_x, caret_y; // the cursor of the view below the one on top, x < 0: it has none
    grid *scratch;
    buf farewell;
};

// bench.c
bool bench_busy(const bench *b);
void bench_key_now(bench *b, key k); // that needs not wait
// Esc and another key that came together, since nothing here is bound to Alt with that one.
bool bench_is_two_keys(const bench *b, key k);
void bench_paste_now(bench *b, const char *words, size_t n);

// typeahead.c: keys that came before the kernel had done what an earlier one asked for.
struct typed {
    key key; // 0: pasted text
    char *text;
    size_t n;
};
// A key, or with 0 a paste, is kept when it has to wait; false: it can be done now.
bool typeahead_hold(bench *b, key k, const char *words, size_t n);
// The next one that needs not wait any more, whose text is the caller's; false: none.
bool typeahead_take(bench *b, struct typed *one);
int typeahead_wait_ms(const bench *b); // -1: nothing waits
void typeahead_free(bench *b);

// slots.c
void slots_follow(bench *b);                      // after the document has changed
void slots_follow_cell(bench *b, const char *id); // after only this cell's text has
void slots_age(bench *b);                         // what shows ages is to be drawn anew
void slots_free(bench *b);
bool slot_unsent(const struct slot *s);

// structure.c: what was typed in a cell that another client has deleted comes to stand in a new
// one.
void structure_rescue(bench *b);

// remote.c: changes of the cells, by way of history.h.
void remote_insert(
    bench *b, const char *id, const char *after, const char *marker, const char *source);
void remote_delete(bench *b, size_t i);
void remote_move(bench *b, const char *id, const char *after);
void remote_edit(bench *b, size_t i, const char *marker); // with the text of its slot
void remote_restart(bench *b);
void remote_answer(bench *b, int64_t ask, const char *value);
// Takes the message; `done` gets the reply, NULL when the kernel went first.
void remote_ask(
    bench *b, cJSON *message, void (*done)(bench *b, void *arg, const cJSON *reply), void *arg);
// What is said meanwhile; events.c says the end of it.
#define SAYS_INTERRUPTING "interrupting"
#define SAYS_RESTARTING   "restarting the kernel"

// peeks.c
void peeks_event(bench *b, const cJSON *event);
void peeks_pinned(bench *b, int64_t display); // it is in the run now
void peeks_free(bench *b);

// questions.c
void questions_add(bench *b, const cJSON *event);
void questions_close(bench *b, int64_t ask);
void questions_forget(bench *b); // all of them: nobody waits for an answer any more
// The oldest open question comes up, unless something is typed; or, when `again`, one that was put
// off too. false: there is none.
bool questions_offer(bench *b, bool again);
int questions_wait_ms(const bench *b); // until one is to be offered, -1: none is

// saving.c
void leave_or_ask(bench *b);         // asks when something is unsaved
void leave_now(bench *b, bool stop); // what goes on is told in the farewell

// orphan.c, for when the kernel has gone
void orphan_note_file(bench *b); // as it is now, it is the document's
bool orphan_unsaved(bench *b);
bool orphan_save(bench *b, const char *path, bool force); // path NULL: its own
void orphan_start(bench *b);

// status.c
bool status_ticks(const bench *b); // it shows an age
void status_draw(bench *b, grid *g, rect area, unsigned mode, const char *place);
