// SPDX-License-Identifier: MIT
// Shared by the loop of the linear mode and its commands.
#pragma once
#include "base/loop/loop.h"
#include "base/os/owner.h"
#include "cli/linear/linear.h"
#include "cli/print/print.h"
#include "script/protocol/client.h"

#include <termios.h>

struct linear {
    struct cli *cli;
    struct cli spoken; // the same, without what only a terminal shows
    loop *loop;
    client *client;
    fold *fold;
    printer *printer;
    loop_poll *input;
    loop_timer *tell, *leave, *peeked;
    loop_signal *signals[3];
    char *path, *spools, *joined;
    buf typed;       // not yet a whole line
    bool ended;      // no more commands come
    bool script;     // commands are not typed by a person
    bool ready;      // the past of the run is known
    cJSON *document; // the newest, until then
    uint64_t caught_up;
    int64_t rev, wanted; // revision of the document here, and of our last change
    bool saved, leaving, stops, failed, busy;
    int waiting;          // requests without a reply
    int interrupts;       // since the last line
    struct termios shown; // how the terminal was, while what is typed is not shown
    bool hides;
    cJSON *asks; // open questions
    struct {
        int64_t display;     // a table that is only looked at; 0: none
        cJSON *table, *rows; // its last bundle, and its rows by uid
        int looks;           // how often it was found empty
        char *kind;
        char *action; // what is to be done with its row; NULL: it is told
    } peek;
    int output; // of the kernel: why it could not start
    err lost;
};

void linear_say(linear *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void linear_wrong(linear *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void linear_ask(linear *l, cJSON *message, void (*done)(void *arg, const cJSON *reply));
void linear_done(void *arg, const cJSON *reply); // of a request that needs no more
void linear_hide(linear *l, bool hides);         // what is typed, for a secret
void linear_leave(linear *l, bool stop);
// commands.c
void linear_command(linear *l, const char *line);
void linear_peeked(linear *l);        // the table that was asked for has come
void linear_tell_question(linear *l); // the oldest open one
