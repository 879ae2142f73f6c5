// SPDX-License-Identifier: MIT
// What a view is, and what of the bench it may touch. A view is one small file that ends in its
// table of operations and keys; it owns what it keeps beside its head, and knows no other view's
// inside and nothing of Kubernetes.
//
//   bench ── top ──> help ──> notebook        keys go to the top; views below an overlay are drawn
//                                             first
// The bench itself is shut (tui/bench/bench_private.h is its own): what is not here or in one of
// these is none of a view's business.
//
//   tui/bench/slots.h       the cells as they are shown and edited here
//   tui/bench/remote.h      what the kernel can be asked for
//   tui/bench/questions.h   what the kernel asks
//   tui/bench/structure.h   changes of cells
//   tui/bench/command.h     lines as vi has them, saving
//   tui/view/views.h        opens other views
#pragma once
#include "base/buf.h"
#include "script/journal/fold.h"
#include "tui/bench/bench.h"
#include "tui/edit/keymap.h"
#include "tui/part/look.h"

typedef struct view view;
struct view_ops {
    const char *name;          // for the status line and the help
    const struct keymap *keys; // its own, and after them those it shares with others (may be NULL)
    const struct keymap *more;
    bool overlay;                    // what is below shows around it
    unsigned (*mode)(const view *v); // of its keys; NULL: MODE_VIEW
    // Gets ready to be drawn there, when all that is below has been: takes in what has come, goes
    // where the cursor is. May be NULL.
    void (*settle)(view *v, rect area);
    void (*draw)(const view *v, grid *g, rect area);
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
// The head of every view, which `view_push` fills in.
struct view {
    const struct view_ops *ops;
    bench *bench;
    view *below;
};

// The new top, of `size` bytes, zero but for its head.
void *view_push(bench *b, const struct view_ops *ops, size_t size);
void view_pop(view *v); // and frees it
// The same for one that a key or a paste closes which is meant for what is below.
void view_pop_key(view *v, key k);
void view_pop_paste(view *v, const char *words, size_t n);
unsigned view_mode(const view *v); // of its keys, MODE_VIEW when it has none of its own
// The first keys of an action in a view, for hints; "" when it has none.
void view_keys(const struct view_ops *ops, unsigned mode, enum action a, char *out, size_t size);
const view *bench_top(const bench *b);

// In the last row, until the next key. bench_redraw has it all drawn anew (bench.h).
void bench_say(bench *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void bench_complain(bench *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void bench_hush(bench *b); // what was said is over

// Has an action done, by the view on top or by the bench; false: neither knows it.
bool bench_act(bench *b, enum action a);
void bench_quit(bench *b); // leaves the program, whatever is unsaved

// The run as its events have it; borrowed until the next one.
const fold *bench_fold(const bench *b);
// A display of the run, or a peek of ours; NULL: there is none.
const struct output *bench_display(const bench *b, int64_t display);
const char *bench_path(const bench *b);      // of the notebook's file, NULL: none is known
const char *bench_spool_dir(const bench *b); // of long outputs, NULL: no kernel has said
bool bench_has_kernel(const bench *b);
bool bench_read_only(const bench *b); // a run that is only watched
// "12s old: refused", when the cluster is not heard; brief: without the reason. "" when it is.
void bench_away(const bench *b, bool brief, buf *out);

// How things are drawn: without braille and arrows; and where the cursor of the view below is,
// false: nowhere.
bool bench_ascii(const bench *b);
bool bench_caret(const bench *b, int *x, int *y);
// A blank grid of at least that many rows, which is given back blank.
grid *bench_scratch(bench *b, int width, int rows);

// What a person has at hand everywhere: text that was cut, and what is searched for ("": nothing
// yet), with its marks as long as they are wanted.
buf *bench_clipboard(bench *b);
const char *bench_searched(const bench *b);
void bench_search_for(bench *b, const char *words);
bool bench_marks(const bench *b);
void bench_show_marks(bench *b, bool shown);
