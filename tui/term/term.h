// SPDX-License-Identifier: MIT
// The terminal: shows grids, drawing only differences, and reads keys, pastes and sizes. Only this
// folder includes curses.h. A real terminal takes over the tty from term_open to term_close and
// gives it back after any end of the program, a crash included; a fake one is for tests.
#pragma once
#include "base/err.h"
#include "tui/edit/key.h"
#include "tui/edit/mouse.h"
#include "tui/grid/grid.h"
#include "tui/picture/album.h"
#include "tui/term/terminfo.h"

// How to notify a person who looks elsewhere. AUTO: as this terminal is known to show it, else by
// the bell.
enum notify { NOTIFY_AUTO, NOTIFY_BELL, NOTIFY_OSC9, NOTIFY_OSC777, NOTIFY_NONE };

// Settings from the environment; cli/ reads it and passes them in. cli/ also calls
// setlocale(LC_CTYPE), without which the C library knows no character beyond ASCII.
struct term_options {
    const char *type;         // TERM
    struct terminfo terminfo; // of our own
    int in, out;              // descriptors of the tty
    bool utf8;                // the locale's encoding is UTF-8
    bool no_color;            // NO_COLOR is set and not empty
    const char *program;      // TERM_PROGRAM, or NULL
    bool vte;                 // VTE_VERSION is set
    bool tmux, screen;        // inside of tmux or screen
    bool no_mouse;            // the terminal keeps the mouse from the start
    bool asks_background;     // an EVENT_BACKGROUND may follow
    enum notify notify;
    enum picture_way pictures; // WAY_UNKNOWN: as the terminal says when it is asked
    album *album;  // borrowed; told how this terminal shows pictures. NULL: there are none
    int escape_ms; // how long Esc waits for the rest of a key; 0: 25
};

enum term_event_kind {
    EVENT_NONE,
    EVENT_KEY,
    EVENT_PASTE,
    EVENT_MOUSE,
    EVENT_RESIZE,
    EVENT_CLOSED,
    EVENT_BACKGROUND, // the terminal has reported its colour, since it was asked
    EVENT_PICTURES,   // pictures are shown in another way or size from now on: draw anew
    EVENT_FOCUS,      // the terminal itself uses this one and the following
    EVENT_MODE,
    EVENT_DEVICE, // primary device attributes
    EVENT_NAME,   // XTVERSION
    EVENT_KITTY,  // what it says of kitty's graphics protocol
    EVENT_COLORS, // how many colours a sixel picture may have
    EVENT_CELL_SIZE,
};
struct term_event {
    enum term_event_kind kind;
    key key;          // EVENT_KEY
    const char *text; // EVENT_PASTE: borrowed until the next term_read
    size_t n;
    int w, h;           // EVENT_RESIZE; EVENT_CELL_SIZE: pixels
    struct mouse mouse; // EVENT_MOUSE
    bool on;            // EVENT_FOCUS: it is here; EVENT_MODE: the terminal has that mode;
                        // EVENT_BACKGROUND: it is light; EVENT_DEVICE: it knows sixels;
                        // EVENT_KITTY: "OK"
    unsigned mode;      // EVENT_COLORS: how many
    char name[32];      // EVENT_NAME: "kitty(0.36.2)"
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
// Call it on SIGCONT: takes the tty again if a shell has had it since, as after a SIGSTOP, which
// gives no program the time to give it back.
void term_continued(term *t);

// Does the person look at this terminal?
enum focus { FOCUS_UNKNOWN, FOCUS_HERE, FOCUS_ELSEWHERE };
enum focus term_focus(const term *t);
// Makes clicks and the wheel events, or leaves them to the terminal (for its selection). false: the
// terminal sends none.
bool term_mouse(term *t, bool on);
void term_title(term *t, const char *text); // the window's title; the old one is restored at the
                                            // end
// Copies to the terminal's clipboard; the terminal may refuse silently. Errors: it has none, or
// this is more than TERM_COPY_MAX bytes.
enum { TERM_COPY_MAX = 74994 };
int term_copy(term *t, const char *bytes, size_t n, err *e);
// Rings or shows these words, as the options have it.
void term_notify(term *t, const char *title, const char *words);

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
const grid *term_fake_grid(const term *t); // as last presented
int term_fake_presents(const term *t);     // how often
