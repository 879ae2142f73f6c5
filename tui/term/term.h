// SPDX-License-Identifier: MIT
// The terminal: shows grids, drawing only differences, and reads keys, pastes and sizes. Only this
// folder includes curses.h. A real terminal takes over the tty from term_open to term_close and
// gives it back after any end of the program, a crash included; a fake one is for tests.
#pragma once
#include "base/err.h"
#include "tui/edit/key.h"
#include "tui/grid/grid.h"

// The settings from the environment, which cli/ reads. cli/ also calls setlocale(LC_CTYPE): without
// it the C library knows only ASCII characters.
struct term_options {
    const char *type; // TERM
    int in, out;      // descriptors of the tty
    bool utf8;        // the locale's encoding is UTF-8
    bool no_color;    // NO_COLOR is set and not empty
    int escape_ms;    // ms to wait after Esc for the rest of a key; 0: 25
};

enum term_event_kind { EVENT_NONE, EVENT_KEY, EVENT_PASTE, EVENT_RESIZE, EVENT_CLOSED };
struct term_event {
    enum term_event_kind kind;
    key key;          // EVENT_KEY
    const char *text; // EVENT_PASTE: borrowed until the next term_read
    size_t n;
    int w, h; // EVENT_RESIZE
};

typedef struct term term;
// Errors: not a terminal, TERM unknown or too simple (dumb) for a screen.
term *term_open(const struct term_options *o, err *e);
void term_close(term *t); // NULL is fine

int term_fd(const term *t);     // readable when term_read has events; it may be polled, and is
                                // non-blocking
bool term_ascii(const term *t); // draw with ASCII only (plots); all else is converted here
int term_colors(const term *t); // 0, 8, 16, 88, 256 or 1 << 24
void term_size(const term *t, int *w, int *h);

// Shows the grid. During a resize, its size may differ from the terminal's for a moment.
void term_present(term *t, const grid *g);
void term_redraw(term *t); // the next present draws everything, since something else wrote to the
                           // tty

// Returns the next event without waiting; EVENT_NONE when there is none now. EVENT_CLOSED: the
// terminal is gone. Call it until EVENT_NONE. Then, unless term_wait_ms is -1, call it again after
// that many milliseconds, even without input: an Esc waits for the rest of a key.
struct term_event term_read(term *t);
int term_wait_ms(const term *t);
// On SIGWINCH: an EVENT_RESIZE follows, and everything must be presented again.
void term_resized(term *t);

// Gives the tty back for a while (an editor, a shell) and takes it again.
void term_leave(term *t);
int term_enter(term *t, err *e);
// Gives the tty back, stops the program as Ctrl-Z does in others, and takes the tty again when the
// program is continued.
int term_suspend(term *t, err *e);

// A terminal in memory.
term *term_fake_open(int w, int h);
void term_fake_type(term *t, const char *keys); // "h i Enter C-e"
void term_fake_paste(term *t, const char *text);
void term_fake_resize(term *t, int w, int h);
const grid *term_fake_grid(const term *t); // the last grid presented
int term_fake_presents(const term *t);     // how many grids were presented
