// SPDX-License-Identifier: MIT
// A program that shows a terminal's events, for the tests of tui/term: names of keys in the first
// row, pastes, the size; and one of everything that can be drawn. "q" leaves, "Q" aborts.
#include "base/mem.h"
#include "base/str.h"
#include "tui/grid/plot.h"
#include "tui/term/term.h"

#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t resized;

static void on_winch(int signum)
{
    resized = 1;
}

static void draw_samples(grid *g, bool ascii)
{
    static const double values[] = {8, 4, 2, 1};
    struct series loss = {.values = values, .n = 4, .style = {.fg = COLOR_RGB(255, 135, 0)}};
    rect all = grid_area(g);
    grid_box(g, (rect){0, 3, 20, 3}, (style){.fg = COLOR_INDEX(4)}, "box");
    grid_print(g, all, 1, 4, (style){0}, "漢é→●\x1b[31m");
    grid_print(g, all, 22, 3, (style){.fg = COLOR_INDEX(9), .attrs = ATTR_BOLD}, "bright");
    grid_print(g, all, 22, 4, (style){.fg = COLOR_RGB(255, 0, 0), .attrs = ATTR_UNDERLINE}, "red");
    grid_print(g, all, 22, 5, (style){.bg = COLOR_INDEX(2)}, "ground");
    // What is not drawn as it is: the letters of a flag, and lines of a terminal with ASCII alone.
    grid_print(g, all, 2, 7, (style){.fg = COLOR_INDEX(4), .attrs = ATTR_BOLD | ATTR_UNDERLINE},
        "\U0001F1E9\U0001F1EA ● ╭─");
    grid_print(g, all, 2, 8, (style){0}, "plain 漢 é ─");
    plot_curves(g, (rect){30, 3, 6, 2}, &loss, 1, 1, 8, ascii);
    plot_progress(g, all, 30, 5, 8, 0.5, (style){0}, ascii);
    grid_print(g, all, all.w - 6, all.h - 1, (style){0}, "corner");
}

static void draw(term *t, grid *g, const buf *heard)
{
    int w, h;
    term_size(t, &w, &h);
    grid_clear(g);
    grid_put(g, grid_area(g), 0, 0, buf_cstr(heard), heard->len, (style){0});
    grid_print(g, grid_area(g), 0, 1, (style){0}, "size %dx%d colors %d", w, h, term_colors(t));
    draw_samples(g, term_ascii(t));
    grid_set_cursor(g, (int)heard->len, 0);
    term_present(t, g);
}

// All that is not a cell: title, clipboard, a notification, and the mouse given back.
static void ask_extras(term *t, buf *heard)
{
    err e = {0};
    term_title(t, "probe: title");
    if (term_copy(t, "copied", 6, &e) < 0)
        buf_fmt(heard, "(%s) ", e.text);
    if (term_focus(t) != FOCUS_HERE)
        term_notify(t, "probe", "is done");
    term_mouse(t, false);
}

// false: leave.
static bool hear(term *t, grid *g, buf *heard, const struct term_event *ev)
{
    char name[KEY_NAME_SIZE];
    switch (ev->kind) {
    case EVENT_KEY:
        key_print(ev->key, name);
        if (str_eq(name, "Q"))
            abort();
        if (str_eq(name, "C-z") && term_suspend(t, NULL) == 0)
            buf_str(heard, "back ");
        if (str_eq(name, "C-o"))
            ask_extras(t, heard);
        if (str_eq(name, "C-l"))
            buf_clear(heard);
        else
            buf_fmt(heard, "%s ", name);
        return !str_eq(name, "q");
    case EVENT_MOUSE:
        buf_fmt(heard, "%s@%d,%d ",
            (const char *[]){"click", "double", "up", "down"}[ev->mouse.kind], ev->mouse.x,
            ev->mouse.y);
        return true;
    case EVENT_PASTE:
        buf_fmt(heard, "<%.*s> ", (int)ev->n, ev->text);
        return true;
    case EVENT_RESIZE:
        grid_resize(g, ev->w, ev->h);
        return true;
    default:
        return false;
    }
}

static void serve(term *t, const sigset_t *unblocked)
{
    int w, h;
    term_size(t, &w, &h);
    grid *g = grid_new(w, h);
    AUTO_BUF heard = {0};
    for (bool on = true; on;) {
        draw(t, g, &heard);
        int ms = term_wait_ms(t);
        // SIGWINCH is delivered only here, so none is lost between the check and the sleep.
        ppoll(&(struct pollfd){.fd = term_fd(t), .events = POLLIN}, 1,
            ms < 0 ? NULL : &(struct timespec){.tv_nsec = ms * 1000000L}, unblocked);
        if (resized) {
            resized = 0;
            term_resized(t);
        }
        for (struct term_event ev; on && (ev = term_read(t)).kind != EVENT_NONE;)
            on = hear(t, g, &heard, &ev);
    }
    grid_free(g);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    struct term_options options = {.type = getenv("TERM"),
        .in = 0,
        .out = 1,
        .utf8 = !getenv("PROBE_ASCII"),
        .no_color = getenv("NO_COLOR") != NULL};
    err e = {0};
    term *t = term_open(&options, &e);
    if (!t) {
        printf("error: %s\n", e.text);
        return 1;
    }
    struct sigaction winch = {.sa_handler = on_winch};
    sigaction(SIGWINCH, &winch, NULL);
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGWINCH);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    serve(t, &before);
    term_close(t);
    puts("bye");
    return 0;
}
