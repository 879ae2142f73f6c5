// SPDX-License-Identifier: MIT
// What terminals can do besides showing cells, and the sequences for it: mouse, focus, title,
// clipboard, notifications, whole pictures. Text that goes into them is made harmless. Pure;
// nothing is owned.
#pragma once
#include "base/buf.h"
#include "tui/term/term.h"

struct extras {
    bool osc;         // speaks xterm's language
    bool title;       // has one
    bool keeps_title; // curses has saved and restored it already
    bool mouse, focus, sync_asked, background_asked;
    enum { MUX_NONE, MUX_TMUX, MUX_SCREEN } mux; // a multiplexer between us and the terminal
    enum notify notify;                          // never NOTIFY_AUTO
};
// xterm_title: terminfo's XT. mouse: terminfo knows one (kmous), and it is wanted.
struct extras extras_of(const struct term_options *o, bool xterm_title, bool mouse);

// When the terminal is taken, and when it is given back.
void extras_begin(const struct extras *x, buf *out);
void extras_end(const struct extras *x, buf *out);
void extras_mouse(bool on, buf *out);
// Around the bytes of a picture.
#define EXTRAS_SYNC_ON  "\x1b[?2026h"
#define EXTRAS_SYNC_OFF "\x1b[?2026l"

// Asks for the terminal's name, kitty's graphics protocol, how many colours a sixel picture may
// have, the size of a cell in pixels, and its attributes, which say whether it knows sixels.
void extras_ask_pictures(const struct extras *x, buf *out);
#define EXTRAS_ASK_CELL "\x1b[16t"
// Wraps a sequence so that a multiplexer passes it on instead of handling it.
void extras_pass_on(const struct extras *x, const char *sequence, size_t n, buf *out);

void extras_title(const struct extras *x, const char *text, buf *out);
void extras_notify(const struct extras *x, const char *title, const char *words, buf *out);
void extras_copy(const struct extras *x, const char *bytes, size_t n, buf *out);
