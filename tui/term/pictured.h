// SPDX-License-Identifier: MIT
// Pictures on a real terminal: what it has said about them, and which of them it shows where. Pure:
// it appends the bytes that curses.c sends. With sixels and iTerm2's protocol the pixels of a
// picture lie over cells until something else is written there; so only parts that are not there
// yet are sent, and only when the picture has stopped moving. kitty's protocol keeps pictures in
// the terminal. The album is borrowed.
//
//   present: send (kitty: what is new), touch, erase ─> curses draws cells ─> show
//   later:   due ─> show: the parts that are not there yet
#pragma once
#include "tui/term/extras.h"

struct spot { // the part of a picture whose pixels lie over a cell
    uint32_t picture;
    int column, row;
};
struct fragment { // a part of a picture as it is shown: w × h cells
    uint32_t picture;
    int x, y, w, h, column, row;
    uint32_t place; // kitty's number of it
};

struct pictured {
    album *album; // NULL: there are none
    struct extras extras;
    struct album_terminal terminal;
    bool utf8;
    int colors;              // of text
    enum picture_way wanted; // WAY_UNKNOWN: as the terminal says
    bool placeholders;       // of kitty's protocol
    bool kitty, kitty_said, sixels, device_said, cell_said;
    char name[32];
    int64_t asked, waited; // mono ns: asked and not all answered; 0: neither
    uint32_t salt;         // upper 8 bits of kitty's numbers, which others may use, too, in a tmux
    uint32_t sent[ALBUM_PLACES + 1]; // the pictures that the terminal has
    struct spot *spots;              // a cell each, w × h
    int w, h;
    struct fragment *shown; // kitty's, without placeholders
    size_t shown_n;
    bool lost; // the screen was cleared since
    uint32_t places;
    int64_t due, first; // mono ns: when to show what is not there yet, since when; 0: nothing
};

void pictured_init(struct pictured *p, const struct term_options *o, const struct extras *x,
    int colors, bool utf8);
void pictured_done(struct pictured *p);
void pictured_screen(struct pictured *p, int w, int h, int pixel_w, int pixel_h);

// Questions, if a picture was asked for and nothing is known yet. Is anything to be sent?
bool pictured_ask(struct pictured *p, int64_t now, buf *out);
// Takes an answer. *changed: pictures are shown in another way from now on.
bool pictured_take(struct pictured *p, const struct term_event *ev, bool *changed);
// Gives up on answers after a while; true: pictures are shown in another way from now on.
bool pictured_late(struct pictured *p, int64_t now);
int pictured_wait_ms(const struct pictured *p, int64_t now); // until _late or _show; -1: nothing

// Before curses draws: what kitty has to know.
void pictured_send(struct pictured *p, const grid *g, buf *out);
// This cell changes from `was`.
void pictured_touch(
    struct pictured *p, int x, int y, const grid_cell *was, const grid_cell *now, int64_t time);
// Before curses draws, when all changes are known: takes away what lies where something else will
// be. When the terminal scrolls text, it may move pixels along or not.
void pictured_erase(struct pictured *p, const grid *g, buf *out);
bool pictured_lies(const struct pictured *p); // is any picture over cells?
// The parts that are not there yet, if it is time.
void pictured_show(struct pictured *p, const grid *g, int64_t now, buf *out);
// The screen was cleared.
void pictured_cleared(struct pictured *p);
// The terminal is given back: takes all pictures away.
void pictured_leave(struct pictured *p, buf *out);
// The number for kitty.
uint32_t pictured_number(const struct pictured *p, uint32_t id);
