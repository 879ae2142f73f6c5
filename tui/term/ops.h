// SPDX-License-Identifier: MIT
// The operations of a terminal, for term.c: the real one and the fake one each end in such a table.
// Private to tui/term.
#pragma once
#include "tui/term/term.h"

struct term_ops {
    void (*close)(term *t);
    int (*fd)(const term *t);
    bool (*ascii)(const term *t);
    int (*colors)(const term *t);
    void (*size)(const term *t, int *w, int *h);
    void (*present)(term *t, const grid *g);
    void (*redraw)(term *t);
    struct term_event (*read)(term *t);
    int (*wait_ms)(const term *t);
    void (*resized)(term *t);
    void (*continued)(term *t);
    void (*leave)(term *t);
    int (*enter)(term *t, err *e);
    int (*suspend)(term *t, err *e);
    enum focus (*focus)(const term *t);
    bool (*mouse)(term *t, bool on);
    void (*title)(term *t, const char *text);
    int (*copy)(term *t, const char *bytes, size_t n, err *e);
    void (*notify)(term *t, const char *title, const char *words);
};

struct term {
    const struct term_ops *ops;
};
