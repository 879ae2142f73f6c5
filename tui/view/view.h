// SPDX-License-Identifier: MIT
// What views are made of, and what they share. A view is one small file that ends in its table of
// operations and keys; it knows the bench, never another view, and nothing of Kubernetes.
//
//   bench ── top ──> help ──> notebook        keys go to the top; views below an overlay are drawn
//     │                                       first
//     ├── fold      the run, from the kernel's events
//     └── slots     one for each cell: its text as it is edited here, and its drawn output
#pragma once
#include "base/digest.h"
#include "base/hashmap.h"
#include "script/journal/fold.h"
#include "tui/bench/bench.h"
#include "tui/bench/history.h"
#include "tui/edit/edit.h"
#include "tui/edit/keymap.h"
#include "tui/part/look.h"
#include "tui/syntax/syntax.h"

typedef struct view view;
struct view_ops {
    const char *name;          // for the status line and the help
    const struct keymap *keys; // its own, and after them those it shares with others (may be NULL)
    const struct keymap *more;
    bool overlay;              // what is below shows around it
    unsigned (*mode)(view *v); // of its keys; NULL: MODE_VIEW
    void (*draw)(view *v, grid *g, rect area);
    // Does an action; false: not one of its own, or without effect.
    bool (*act)(view *v, enum action a);
    // A key that is bound to nothing, and pasted text; may be NULL.
    void (*type)(view *v, key k);
    void (*paste)(view *v, const char *words, size_t n);
    // An event of the run that is in the fold now; NULL: all of the fold is new. May be NULL.
    void (*heard)(view *v, const cJSON *event);
    // Milliseconds until it wants to be drawn again though nothing happens (an age that grows); -1
    // or NULL: it does not.
    int (*wait_ms)(const view *v);
    void (*hint)(const view *v, buf *out); // its keys in a few words, for the status line; or NULL
    void (*done)(view *v);                 // frees what it has beside itself; may be NULL
};
struct view {
    const struct view_ops *ops;
    bench *bench;
    view *below;
};

// A cell as it is shown: by id, in the document's order.
struct slot {
    char *id;
    char *marker;
    edit *edit;
    syntax_cache *syntax;
    syntax_language language;
    uint64_t sent;   // revision of the text that the kernel has
    unsigned asked;  // texts of ours that the kernel has not answered
    int64_t base;    // revision of the kernel's text that this one is based on
    int64_t made;    // revision that the kernel made of our last one: older news are passed over
    bool contested;  // somebody else's text came instead of ours, which undo brings back
    uint64_t hashed; // revision of the text whose hash this is
    char hash[SHA256_HEX];
    unsigned version; // counts what happened to its output
    bool input_folded, output_folded;
    struct markdown *rendered; // a text cell as it is read, of this revision in this width
    uint64_t rendered_text;
    int rendered_width;
    grid *output; // drawn, for `drawn_version` and `drawn_width`
    bool ages;    // it shows ages, which grow
    unsigned drawn_version;
    int drawn_width;
    int rows; // of what is drawn
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
void *view_push(bench *b, const struct view_ops *ops, size_t size); // zeroed but for its head
void view_pop(view *v);                                             // and frees it
void bench_say(bench *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void bench_complain(bench *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool bench_act(bench *b, enum action a); // by the views from the top, then the bench itself
bool bench_busy(const bench *b);
unsigned view_mode(view *v); // of its keys, MODE_VIEW when it has none of its own
// The first keys of an action in a view, for hints; "" when it has none.
void view_keys(const struct view_ops *ops, unsigned mode, enum action a, char *out, size_t size);
void bench_select(bench *b, const char *id); // that cell, as soon as it is there

void bench_key_now(bench *b, key k);
void bench_paste_now(bench *b, const char *words, size_t n);

// orphan.c, for when the kernel has gone
void orphan_note_file(bench *b); // as it is now, it is the document's
bool orphan_unsaved(bench *b);
bool orphan_save(bench *b, const char *path, bool force); // path NULL: its own
void orphan_start(bench *b);

// typeahead.c, which has bench_key, bench_paste and bench_go_on
int typeahead_wait_ms(const bench *b); // -1: nothing waits
void typeahead_free(bench *b);

// slots.c
void slots_follow(bench *b);                      // after the document has changed
void slots_follow_cell(bench *b, const char *id); // after only this cell's text has
void slots_free(bench *b);
struct slot *slot_by_id(bench *b, const char *id, size_t *i);
bool slot_unsent(const struct slot *s);
bool slot_changed(struct slot *s, const char *hash); // is its text another than the one hashed?
const cell *slot_cell(const bench *b, size_t i);
const struct run_cell *slot_run(const bench *b, size_t i);

// remote.c: what the kernel is asked for. All say it when there is none.
bool remote_ready(bench *b, bool change); // else says why not
void remote_flush(bench *b);
// Cells [from, to); false when none of them can be executed.
bool remote_execute(bench *b, size_t from, size_t to);
void remote_clear(bench *b, size_t from, size_t to);
// What is said meanwhile; events.c says the end of it.
#define SAYS_INTERRUPTING "interrupting"
#define SAYS_RESTARTING   "restarting the kernel"
void remote_interrupt(bench *b);
void remote_restart(bench *b);
// Changes of the cells, by way of history.h.
void remote_insert(
    bench *b, const char *id, const char *after, const char *marker, const char *source);
void remote_delete(bench *b, size_t i);
void remote_move(bench *b, const char *id, const char *after);
void remote_edit(bench *b, size_t i, const char *marker); // with the text of its slot
// Takes the message; `done` gets the reply, NULL when the kernel went first.
void remote_ask(
    bench *b, cJSON *message, void (*done)(bench *b, void *arg, const cJSON *reply), void *arg);
void remote_answer(bench *b, int64_t ask, const char *value);
// Asks a display to do something, with a row of it ("uid", may be NULL). `done` gets a good reply
// (an error is said already) while the workbench lives, whatever view is on top by then.
void remote_act(bench *b, int64_t display, const char *action, const char *row,
    void (*done)(bench *b, const cJSON *reply));

// saving.c: the document and its file. path: another file, NULL: its own; force: whatever is there.
void save_document(bench *b, const char *path, bool force, bool leave);
void reload_document(bench *b, bool leave);
void leave_now(bench *b, bool stop); // what goes on is told in the farewell
// command.c: a line as vi has them, ":w NAME"; false: it is none.
bool command_run(bench *b, const char *line);
const char *command_help(const char *line); // NULL: it is none
bool command_act(bench *b, enum action a);  // what works wherever one is
bool command_does(enum action a);           // is it one of these?

// lookup.c: asks the kernel about the name before the cursor: its completions, or what it is.
// false: there is none, or the cell is not Lua.
bool lookup_ask(bench *b, struct slot *s, bool inspect);

// output.c: a slot's output, drawn anew when it has changed; NULL: it has none. Its rows are known
// after it is forgotten, too.
const grid *output_grid(bench *b, size_t i, int width);
int output_rows(bench *b, size_t i, int width);
void output_forget(bench *b, size_t from, size_t to); // all but those of the slots [from, to)

// The views.
void notebook_push(bench *b);
void help_push(bench *b);
// The first place in which an action has keys, and these keys; NULL: in none.
const char *help_place(enum action a, char *keys, size_t size);
// The oldest open question comes up, unless something is typed; or, when `again`, one that was put
// off too. false: there is none.
bool ask_offer(bench *b, bool again);
int ask_wait_ms(const bench *b); // until a question is to be offered, -1: none is
enum prompt { PROMPT_PALETTE, PROMPT_SEARCH };
void prompt_push(bench *b, enum prompt what, const char *line); // with that typed already
void leave_push(bench *b);
void complete_push(bench *b, struct slot *s, pos from, const cJSON *reply);
void inspect_push(bench *b, const char *words);
void conflict_push(bench *b, const char *path, bool exists, bool leave);
void page_push(bench *b, size_t at); // all that a cell has left
void page_push_display(bench *b, int64_t display);
void page_push_text(bench *b, const char *title, const char *words);
// A live table on the full screen, with a cursor, a filter, an order and the actions it names.
void table_push(bench *b, int64_t display);
// Progress and curves on the full screen.
void chart_push(bench *b, int64_t display);

bool status_ticks(const bench *b);                      // it shows an age
void status_away(const bench *b, bool brief, buf *out); // "12s old: refused", "" when it is not
void status_draw(bench *b, grid *g, rect area, unsigned mode, const char *place);

// For the documentation, which is made from their keys.
extern const struct view_ops page_view_ops, help_view_ops, prompt_view_ops, ask_view_ops,
    pick_view_ops, table_view_ops, chart_view_ops, leave_view_ops, conflict_view_ops,
    complete_view_ops, inspect_view_ops;
