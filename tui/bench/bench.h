// SPDX-License-Identifier: MIT
// The workbench: a stack of views over one open notebook, fed with keys and with a kernel's
// messages, drawn into a grid. It owns views and what it knows of the run; connection, terminal and
// loop are the program's (cli/workbench.c).
//
//   keys ──> top view ──> remote: edit, execute, … ──> kernel
//   grid <── views <── fold, slots <── messages ─────────┘
#pragma once
#include "script/protocol/client.h"
#include "tui/edit/key.h"
#include "tui/grid/grid.h"

typedef struct bench bench;

// What only the program can do. Called from within the functions below.
struct bench_ops {
    void (*quit)(void *arg, bool stop_kernel);
    void (*suspend)(void *arg);
    void (*redraw)(void *arg);
    // Starts another kernel, the last one having died, with this text as the document.
    int (*start)(void *arg, const char *words, size_t n, err *e);
    void (*changed)(void *arg); // there is something to draw, beside a key or a message
    // Lets a person change a file in $EDITOR; the screen is theirs meanwhile.
    int (*edit_file)(void *arg, const char *path, err *e);
};
struct bench_about {
    const char *target;    // the cluster in a few words, "sandbox", "kind-dev/ml"; NULL: none said
    bool ascii;            // plots without braille
    const char *temporary; // a folder for files that are open in $EDITOR
};

bench *bench_new(const struct bench_about *about, const struct bench_ops *ops, void *arg);
void bench_free(bench *b);
// The notebook as its file has it, to be drawn before a kernel answers.
int bench_show(bench *b, const char *path, const char *words, size_t n, err *e);
// Says hello and speaks to this kernel from now on. owner: a kernel with nothing to do ends when it
// is left (a headless run, which is only watched, would be stopped).
void bench_connect(bench *b, client *c, bool owner);
// It is gone; why is shown. "": another one comes, after a restart.
void bench_lost(bench *b, const char *why);
void bench_message(bench *b, message_type type, const cJSON *message);
// Has the kernel said that it restarts? Then it is to be connected to again.
bool bench_restarting(const bench *b);

void bench_key(bench *b, key k);
void bench_paste(bench *b, const char *words, size_t n);
// Does the next key that had to wait for the kernel; false when none is due. To be called after
// what came is drawn, until it is false.
bool bench_go_on(bench *b);
// Sends what was typed and not sent yet: at a hang-up.
void bench_flush(bench *b);

// Draws if anything has changed since the last time; a resized grid counts as a change.
bool bench_draw(bench *b, grid *g);
void bench_redraw(bench *b);
void bench_notice(bench *b, const char *words); // in the last row, until a key
// Milliseconds until bench_tick is wanted, -1: not at all.
int bench_wait_ms(const bench *b);
void bench_tick(bench *b);
// A line for the shell when it is left: what goes on. NULL: nothing does.
const char *bench_farewell(const bench *b);
// All keys as Markdown tables, for doc/workbench.md.
void bench_document_keys(buf *out);
