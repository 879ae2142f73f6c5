// SPDX-License-Identifier: MIT
// The workbench: a stack of views over one open notebook. It is fed with keys and with a kernel's
// messages, and drawn into a grid. It owns the views and its knowledge of the run. The program
// (cli/workbench/workbench.c) owns connection, terminal and loop.
//
//   keys ──> top view ──> remote: edit, execute, … ──> kernel
//   grid <── views <── fold, slots <── messages ─────────┘
#pragma once
#include "script/journal/replay.h"
#include "script/protocol/client.h"
#include "tui/config/theme.h"
#include "tui/edit/key.h"
#include "tui/edit/mouse.h"
#include "tui/grid/grid.h"
#include "tui/picture/album.h"

typedef struct bench bench;

enum run_deed { RUN_ATTACH, RUN_REMOVE, RUN_EXPORT };
// What only the program can do. The functions below call these.
struct bench_ops {
    void (*quit)(void *arg, bool stop_kernel);
    void (*suspend)(void *arg);
    void (*redraw)(void *arg);
    // Starts another kernel after the last one has died, with this text as the document; its run
    // may be NULL.
    int (*start)(void *arg, const char *words, size_t n, const char *run, err *e);
    void (*changed)(void *arg); // there is something to draw, not due to a key or a message
    // Lets a person edit a file in $EDITOR, which has the screen meanwhile.
    int (*edit_file)(void *arg, const char *path, err *e);
    // A shell in a container, which has the screen meanwhile: {"pod", "namespace", "container",
    // "context", "kubeconfig"}. May be NULL.
    int (*shell)(void *arg, const cJSON *where, err *e);
    // A command {"command": [words], "kubeconfig"} that has the screen meanwhile, and a page of the
    // web. May be NULL. browse, ERR_NOT_FOUND: there is no browser here.
    int (*command)(void *arg, const cJSON *what, err *e);
    int (*browse)(void *arg, const char *url, err *e);
    // To the terminal's clipboard.
    int (*copy)(void *arg, const char *text, size_t n, err *e);
    // Takes the mouse or leaves it to the terminal; false: there is none.
    bool (*mouse)(void *arg, bool on);
    // Shows a run from its journal on top of this bench, until the person leaves it. May be NULL.
    void (*open_run)(void *arg, const char *journal);
    // Does something to a run of a folder; said: what was done, for people. While a run is attached
    // to, that has the screen. May be NULL.
    int (*run_deed)(
        void *arg, enum run_deed deed, const char *folder, const char *run, buf *said, err *e);
    // Writes a plot (doc/displays.md) as a picture, SVG, to a new file. May be NULL.
    int (*picture)(void *arg, const char *path, const cJSON *plot, err *e);
    // Checks on another thread whether the files in the list (outside_list) have changed, and then
    // calls bench_looked. Takes the list. May be NULL.
    void (*look)(void *arg, cJSON *list);
    // Reads the file as git's HEAD has it, without waiting, and then calls bench_headed. May be
    // NULL.
    void (*head)(void *arg, const char *path);
    // Lets a person edit their settings, and then calls bench_set. May be NULL.
    int (*configure)(void *arg, err *e);
    // Notifies a person who may be looking at another window. May be NULL.
    void (*notify)(void *arg, const char *title, const char *words);
};
struct bench_about {
    const char *target; // the cluster in a few words, "sandbox", "kind-dev/ml"; NULL: none
    bool ascii;         // plots without braille
    bool mono;          // the terminal shows no colours
    album *album;       // for pictures, borrowed; NULL: a line says what there is
    const struct settings *settings; // a person's own, borrowed; NULL: the usual ones
    bool no_mouse;                   // the terminal has kept it
    bool looks;                      // this bench changes nothing (--read-only)
    bool no_ask;                     // nothing is asked before it ends or loses something
    bool no_outputs;                 // what earlier runs have left is not shown
    const char *gallery;             // the folder of recipes and ready cells; NULL: there are none
    const char *temporary;           // a folder for files that are open in $EDITOR
    const char *runtime;             // the run-time folder, which tells of these; NULL: nobody does
};

bench *bench_new(const struct bench_about *about, const struct bench_ops *ops, void *arg);
void bench_free(bench *b);
// Shows the notebook as in its file, before a kernel has answered.
int bench_show(bench *b, const char *path, const char *words, size_t n, err *e);
// Selects the cell with this id as soon as it is there.
void bench_go(bench *b, const char *id);
// Shows a run from its journal instead: first as it ended; keys go to any time before. Nothing can
// be changed. Takes `run`; `journal` is the path of its journal.
void bench_show_run(bench *b, replay *run, const char *journal);
// Shows a table in a file, until the person leaves. Errors: it is of no kind that can be shown, or
// cannot be read.
int bench_view_file(bench *b, const char *path, err *e);
// Shows below each cell that has not run yet, dim, what earlier runs in this folder left there.
// given: the parameters of the run to come, NAME=VALUE, NULL-terminated, or NULL. Nothing is read
// before the next tick.
void bench_remember(bench *b, const char *folder, const char *const *given);
// From now on the bench only watches: it changes nothing in the kernel to which it connects next.
void bench_only_looks(bench *b);
// Further fields of each hello (message.def): of the terminal, and the kernel's lifetime.
void bench_greets(bench *b, const cJSON *greeting);
// What the last row says when the kernel that is joined next has told its past.
void bench_joined(bench *b, const char *words);
// Says hello to this kernel and uses it from now on. owner: when we leave, a kernel with nothing to
// do ends (a headless run that we only watch would be stopped).
void bench_connect(bench *b, client *c, bool owner);
// The kernel is gone; shows why. "": another one comes, after a restart.
void bench_lost(bench *b, const char *why);
void bench_message(bench *b, message_type type, const cJSON *message);
// Does the kernel have, or had the lost one, a private sandbox? processes: are its pods plain ones?
bool bench_in_sandbox(const bench *b, bool *processes);
// Does the kernel restart? Then connect to it again.
bool bench_restarting(const bench *b);
// Takes the answer of outside_look: which files outside of the notebook have changed.
void bench_looked(bench *b, cJSON *outside);

void bench_key(bench *b, key k);
void bench_paste(bench *b, const char *words, size_t n);
// The mouse does nothing while keys wait for the kernel, since what it points at may still move.
void bench_mouse(bench *b, const struct mouse *m);
// Does the next key that had to wait for the kernel; false when none is due. To be called after
// what came is drawn, until it is false.
bool bench_go_on(bench *b);
// At a hang-up: sends what was typed but not sent yet.
void bench_flush(bench *b);

// Takes what git's HEAD has of the file that was asked for; words NULL: it has none.
void bench_headed(bench *b, const char *path, const char *words, size_t n);

// From now on these settings count (borrowed), and this is the terminal's background.
void bench_set(bench *b, const struct settings *s);
void bench_background(bench *b, enum background background);

// Draws if anything has changed since the last call; a resized grid counts as a change.
bool bench_draw(bench *b, grid *g);
void bench_redraw(bench *b);
void bench_notice(bench *b, const char *words); // shows it in the last row, until a key
// Milliseconds after which to call bench_tick, -1: do not.
int bench_wait_ms(const bench *b);
void bench_tick(bench *b);
// A line for the shell at the end: what is still running. NULL: nothing is.
const char *bench_farewell(const bench *b);
// The notebook and what becomes of it, for the window's title: "mnist.lua: running [3/12]".
void bench_title(const bench *b, buf *out);
// All keys as Markdown tables, for doc/workbench.md.
void bench_document_keys(buf *out);
