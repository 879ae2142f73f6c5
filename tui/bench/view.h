// SPDX-License-Identifier: MIT
// What a view is, and which parts of the bench it may use. A view is one small file that ends in
// its table of operations and keys. It owns the data behind its head. It knows neither the inside
// of other views nor anything about Kubernetes.
//
//   bench ── top ──> help ──> notebook        keys go to the top; views below an overlay are drawn
//                                             first
// The inside of the bench is closed to views (tui/bench/bench_private.h). They use only this header
// and:
//
//   tui/bench/slots.h       the cells as they are shown and edited here
//   tui/bench/find/head.h   how they differ from git's HEAD
//   tui/bench/document/problems.h  what is wrong with them as they are typed
//   tui/bench/remote.h      what the kernel can be asked for
//   tui/bench/questions.h   what the kernel asks
//   tui/bench/structure.h   changes of cells
//   tui/bench/command.h     lines as vi has them, saving
//   tui/bench/loss.h        what an action would end or lose
//   tui/bench/desk.h        tables of any kind of the cluster, and where they look
//   tui/bench/cluster/objectedit.h  an object in $EDITOR
//   tui/bench/cluster/objectlogs.h  logs of a table's rows
//   tui/bench/cluster/objectshell.h a shell in a pod
//   tui/bench/views.h        opens other views
#pragma once
#include "base/buf.h"
#include "script/journal/fold/fold.h"
#include "tui/bench/bench.h"
#include "tui/config/settings.h"
#include "tui/edit/keymap.h"
#include "tui/grid/look.h"

typedef struct view view;
struct view_ops {
    const char *name;          // for the status line and the help
    const struct keymap *keys; // its own keymap, then those it shares with others (may be NULL)
    const struct keymap *more;
    bool overlay; // the view below is visible around it
    // It asks a question whose answer cannot be taken back. So it takes no key in the first half
    // second after it is drawn, nor while a person is still typing what was meant for another view.
    bool asks;
    // For a view that asks: may this action lose something? Only such actions have to wait. NULL:
    // every action may.
    bool (*risks)(enum action a);
    unsigned (*mode)(const view *v); // the mode of its keys; NULL: MODE_VIEW
    // What the status line calls its mode; NULL, or returning NULL: as modes are called.
    const char *(*mode_name)(const view *v);
    // The offset of its struct filter in the view; 0: it has no filter. The bench passes keys and
    // pastes to the filter, and then calls `filtered`, because other rows may be shown now.
    size_t filter;
    void (*filtered)(view *v);
    // Prepares for drawing in this area, after all views below: takes in new data, and moves to the
    // cursor. May be NULL.
    void (*settle)(view *v, rect area);
    void (*draw)(const view *v, grid *g, rect area);
    // Carries out an action; false: not its action, or without effect.
    bool (*act)(view *v, enum action a);
    // Carries out on the selected row what was typed after ':', such as "scale" with the words "3"
    // ("": no words). NULL: the view has no rows of objects.
    void (*request)(view *v, const char *action, const char *words);
    // Shows what the search that is being typed would find first, and says which of how many it is;
    // words NULL: back to what was shown before. NULL: it only searches for what was typed whole.
    void (*seek)(view *v, const char *words, buf *said);
    // A key without a binding, and pasted text; false: it means nothing here. May be NULL.
    bool (*type)(view *v, key k);
    bool (*paste)(view *v, const char *words, size_t n);
    // What was done with the mouse; false: the bench may make something of it (rows that scroll).
    // May be NULL.
    bool (*mouse)(view *v, const struct mouse *m);
    // An event of the run that is in the fold now; NULL: all of the fold is new. May be NULL.
    void (*heard)(view *v, const cJSON *event);
    // Milliseconds until it must be drawn again although nothing happens (an age grows); -1 or
    // NULL: not needed.
    int (*wait_ms)(const view *v);
    void (*hint)(const view *v, buf *out); // its keys in a few words, for the status line; may be
                                           // NULL
    void (*done)(view *v);                 // frees what it owns; may be NULL
};
// The head of every view; `view_push` fills it in.
struct view {
    const struct view_ops *ops;
    bench *bench;
    view *below;
    int64_t shown; // mono ns, when it was drawn first; 0: not yet
    bool known;    // the person's own key has opened it, so that one that asks takes keys at once
    bool missed;   // text was typed before it took keys
};

// Makes the new top view of `size` bytes, zero except its head.
void *view_push(bench *b, const struct view_ops *ops, size_t size);
void view_pop(view *v); // also frees it
// The same, for a view that is closed by a key or a paste meant for the view below.
void view_pop_key(view *v, key k);
void view_pop_paste(view *v, const char *words, size_t n);
unsigned view_mode(const view *v); // the mode of its keys; MODE_VIEW by default
// Writes the keys of the action's first binding that is not overridden, for hints; "" if it has
// none. b: with this person's own keys; NULL: the defaults alone.
void view_keys(const bench *b, const struct view_ops *ops, unsigned mode, enum action a, char *out,
    size_t size);
// The maps of a view's keys, a person's own first: those of the view, those it shares with others.
enum { VIEW_MAPS = 3 };
void view_maps(const bench *b, const struct view_ops *ops, const struct keymap *maps[VIEW_MAPS]);
const view *bench_top(const bench *b);
bool view_takes_keys(const view *v); // false: it asks, and has to wait a moment (see `asks`)

// Shows a notice in the last row, until the next key. bench_redraw draws everything again
// (bench.h).
void bench_say(bench *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void bench_complain(bench *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void bench_hush(bench *b); // removes the notice

// Carries out an action in the top view or in the bench; false: neither has it.
bool bench_act(bench *b, enum action a);
void bench_quit(bench *b); // leaves the program, even with unsaved edits

// The run according to its events; borrowed until the next one.
const fold *bench_fold(const bench *b);
// A display of the run, or a peek of ours; NULL: there is none.
const struct output *bench_display(const bench *b, int64_t display);
const char *bench_path(const bench *b);      // path of the notebook's file, NULL: unknown
const char *bench_spool_dir(const bench *b); // folder of long outputs, NULL: unknown before a
                                             // kernel answers
char *bench_folder(const bench *b);          // the working folder of the runs; new, NULL: unknown
const char *bench_run(const bench *b);       // the name of the run, NULL: unknown
bool bench_open_run(bench *b, const char *journal); // opens it read-only; false: it cannot be
// Attaches to a run, removes it or exports it, and says what came of it; false: that failed.
bool bench_run_deed(bench *b, enum run_deed deed, const char *folder, const char *run);
// Writes a plot (doc/displays.md) as a picture, SVG, to a new file.
int bench_write_picture(bench *b, const char *path, const cJSON *plot, err *e);
bool bench_has_kernel(const bench *b);
bool bench_read_only(const bench *b); // the run is only watched
bool bench_replays(const bench *b);   // it is a run from its journal
int64_t bench_now(const bench *b);    // wall ns: now, or the time at which that run is shown
// "12s old: refused", when the cluster cannot be reached; brief: without the reason. "" when it
// can.
void bench_away(const bench *b, bool brief, buf *out);

// Must be drawn without braille and arrows?
bool bench_ascii(const bench *b);
bool bench_mono(const bench *b);    // nobody sees colours
album *bench_album(const bench *b); // for pictures; NULL: there are none
bool bench_wraps(const bench *b);   // long lines of cells go on in the next row
void bench_wrap(bench *b, bool wraps);
bool bench_numbers(const bench *b); // lines of cells have numbers
void bench_show_numbers(bench *b, bool shown);
// What a person has set in config.yaml.
const struct settings *bench_settings(const bench *b);
// The place of the cursor in the view below the top one; false: that view has none.
bool bench_caret(const bench *b, int *x, int *y);
// A blank grid with at least so many rows; it must be blank when it is given back.
grid *bench_scratch(bench *b, int width, int rows);

// Copies the words to the terminal's clipboard, and tells the person what was copied: `what` is
// "3 rows" or "the cell".
void bench_clip(bench *b, const char *words, size_t n, const char *what);

// Opens a page in the person's browser; where there is none, the address is copied.
void bench_browse(bench *b, const char *url);

// What all views share: the text that was cut, the words that are searched for ("": none yet), and
// whether matches are marked.
buf *bench_clipboard(bench *b);
const char *bench_searched(const bench *b);
struct pattern;
const struct pattern *bench_search_pattern(const bench *b); // the same, compiled
void bench_search_for(bench *b, const char *words);
struct past;
struct past *bench_past(bench *b); // of searches and filters
bool bench_marks(const bench *b);
void bench_show_marks(bench *b, bool shown);
