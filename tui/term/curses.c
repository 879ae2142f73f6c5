// SPDX-License-Identifier: MIT
// The real terminal. curses draws, because it knows the terminals and sends little. Keys are read
// by ourselves (input.c), because curses' getch waits for the rest of a key and knows neither
// pastes nor modifiers.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tui/term/draw.h"
#include "tui/term/extras.h"
#include "tui/term/input.h"
#include "tui/term/ops.h"
#include "tui/term/pictured.h"
#include "tui/term/restore.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { DOUBLE_MS = 400, ANSWER_MS = 500 };

struct real {
    term base;
    int in, out; // we close `in`; `out` is the caller's
    bool owns_in;
    FILE *out_file, *in_file;
    SCREEN *screen;
    struct draw draw;
    grid *shown; // the content that curses knows
    bool is_shown, is_away, resize_due, gone;
    int w, h, cursor;
    input *input;
    int64_t heard; // clock_mono when bytes last came
    int escape_ms;
    char *type;
    struct termios modes; // as they were before
    struct extras extras;
    struct pictured pictured;
    bool synced;   // it can show whole pictures at once (mode 2026)
    int64_t asked; // clock_mono when it was asked whether it can; 0: it has answered
    enum focus focus;
    struct mouse clicked; // last, and when
    int64_t clicked_at;
    buf title;
    size_t changed; // number of cells in the picture that is being sent
    buf begin, end; // bytes sent besides curses when the terminal is taken and given back
};

static struct real *real_of(const term *t)
{
    return (struct real *)t;
}

// A capability without its padding ("$<5>"), which no terminal in use needs.
static void add_capability(buf *out, const char *name)
{
    const char *s = tigetstr(name);
    if (!s || s == (const char *)-1)
        return;
    while (*s) {
        const char *close = s[0] == '$' && s[1] == '<' ? strchr(s, '>') : NULL;
        if (close)
            s = close + 1;
        else
            buf_char(out, *s++);
    }
}

static bool knows_mouse(void)
{
    const char *s = tigetstr("kmous");
    return s && s != (const char *)-1;
}

// Bracketed paste is ignored by terminals that do not know it, but a real VT might print it. xterm
// and tmux distinguish Shift-Enter from Enter when asked to (modifyOtherKeys).
static void find_strings(struct real *r)
{
    const char *type = r->type;
    buf_clear(&r->begin);
    buf_clear(&r->end);
    bool has_paste = !str_starts(type, "vt") && !str_starts(type, "ansi");
    bool has_modify = str_starts(type, "xterm") || str_starts(type, "tmux");
    add_capability(&r->begin, "smkx");
    buf_str(&r->begin, has_paste ? "\x1b[?2004h" : "");
    buf_str(&r->begin, has_modify ? "\x1b[>4;1m" : "");
    extras_begin(&r->extras, &r->begin);
    extras_end(&r->extras, &r->end);
    buf_str(&r->end, has_modify ? "\x1b[>4m" : "");
    buf_str(&r->end, has_paste ? "\x1b[?2004l" : "");
    add_capability(&r->end, "rmkx");
}

// Everything that gives a terminal back, including what endwin would send.
static void arm(struct real *r)
{
    AUTO_BUF all = {0};
    buf_add(&all, r->end.data, r->end.len);
    add_capability(&all, "sgr0");
    add_capability(&all, "cnorm");
    add_capability(&all, "rmcup");
    restore_arm(r->out, buf_cstr(&all), all.len, &r->modes);
}

// Finds the terminal's own sequences, with the modified ones that terminfo calls "kUP5".
static void find_keys(input *in)
{
    static const struct {
        const char *name;
        key key;
    } plain[] = {{"kcuu1", FK_UP}, {"kcud1", FK_DOWN}, {"kcub1", FK_LEFT}, {"kcuf1", FK_RIGHT},
        {"khome", FK_HOME}, {"kend", FK_END}, {"kpp", FK_PGUP}, {"knp", FK_PGDN},
        {"kich1", FK_INSERT}, {"kdch1", FK_DELETE}, {"kcbt", FK_TAB | KEY_SHIFT},
        {"kent", FK_ENTER}, {"kf1", FK_F1}, {"kf2", FK_F2}, {"kf3", FK_F3}, {"kf4", FK_F4},
        {"kf5", FK_F5}, {"kf6", FK_F6}, {"kf7", FK_F7}, {"kf8", FK_F8}, {"kf9", FK_F9},
        {"kf10", FK_F10}, {"kf11", FK_F11}, {"kf12", FK_F12}};
    static const struct {
        const char *name;
        key key;
    } modified[] = {{"kUP", FK_UP}, {"kDN", FK_DOWN}, {"kLFT", FK_LEFT}, {"kRIT", FK_RIGHT},
        {"kHOM", FK_HOME}, {"kEND", FK_END}, {"kPRV", FK_PGUP}, {"kNXT", FK_PGDN},
        {"kDC", FK_DELETE}};
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        const char *s = tigetstr(plain[i].name);
        if (s && s != (const char *)-1)
            input_add_key(in, s, plain[i].key);
    }
    for (size_t i = 0; i < ARRAY_LEN(modified); i++)
        for (unsigned m = 2; m <= 8; m++) {
            char name[16];
            snprintf(name, sizeof name, m == 2 ? "%s" : "%s%u", modified[i].name, m);
            const char *s = tigetstr(name);
            key mods = ((m - 1) & 1 ? KEY_SHIFT : 0) | ((m - 1) & 2 ? KEY_ALT : 0) |
                       ((m - 1) & 4 ? KEY_CTRL : 0);
            if (s && s != (const char *)-1)
                input_add_key(in, s, modified[i].key | mods);
        }
}

// Sends bytes without curses; after a refresh, none of curses' bytes are pending.
static void send(const struct real *r, const buf *bytes)
{
    if (bytes->len)
        fd_write_all(r->out, bytes->data, bytes->len, NULL);
}

static bool ask_size(const struct real *r, int *w, int *h)
{
    struct winsize size;
    if (ioctl(r->out, TIOCGWINSZ, &size) != 0 || !size.ws_col || !size.ws_row)
        return false;
    *w = size.ws_col;
    *h = size.ws_row;
    return true;
}

// A person may have changed the font, too.
static void tell_pictures(struct real *r)
{
    struct winsize size = {0};
    if (ioctl(r->out, TIOCGWINSZ, &size) != 0)
        size = (struct winsize){0};
    pictured_screen(&r->pictured, r->w, r->h, size.ws_xpixel, size.ws_ypixel);
    if (r->pictured.cell_said && !r->is_away && !r->gone)
        fd_write_all(r->out, EXTRAS_ASK_CELL, strlen(EXTRAS_ASK_CELL), NULL);
}

static void take(struct real *r)
{
    send(r, &r->begin);
    r->asked = r->extras.sync_asked ? clock_mono() : 0;
}

static int real_fd(const term *t)
{
    return real_of(t)->in;
}

static bool real_ascii(const term *t)
{
    return real_of(t)->draw.ascii;
}

static int real_colors(const term *t)
{
    return real_of(t)->draw.colors;
}

static void real_size(const term *t, int *w, int *h)
{
    *w = real_of(t)->w;
    *h = real_of(t)->h;
}

struct run_arg {
    struct real *r;
    const grid *g;
    int64_t now;
};

static void draw_one(struct real *r, int x, int y, const grid_cell *c, int64_t now)
{
    struct pictured *p = &r->pictured;
    struct grid_part part = grid_part_of(c);
    pictured_touch(p, x, y, grid_at(r->shown, x, y), c, now);
    if (!part.picture)
        draw_cell(&r->draw, x, y, c);
    else if (p->terminal.way == WAY_KITTY && p->placeholders)
        draw_part(x, y, &part, pictured_number(p, part.picture));
    else
        draw_part(x, y, &part, 0);
}

static void draw_run(void *arg, int x, int y, int n)
{
    const struct run_arg *a = arg;
    for (int i = x; i < x + n && i < a->r->w && y < a->r->h; i++)
        draw_one(a->r, i, y, grid_at(a->g, i, y), a->now);
    a->r->changed += (size_t)n;
}

static void send_text(const struct real *r, const char *sequence)
{
    fd_write_all(r->out, sequence, strlen(sequence), NULL);
}

static void real_present(term *t, const grid *g)
{
    struct real *r = real_of(t);
    if (r->is_away || r->gone)
        return;
    rect size = grid_area(g), had = grid_area(r->shown);
    if (!r->is_shown || size.w != had.w || size.h != had.h) {
        erase();
        grid_resize(r->shown, 0, 0); // so that everything differs from it
        r->is_shown = true;
    }
    struct run_arg arg = {r, g, clock_mono()};
    AUTO_BUF before = {0}, after = {0};
    r->changed = 0;
    pictured_send(&r->pictured, g, &before);
    grid_diff(r->shown, g, draw_run, &arg);
    grid_copy(r->shown, g);
    pictured_erase(&r->pictured, g, &before);
    idcok(stdscr, !pictured_lies(&r->pictured)); // pixels do not move when text is inserted
    pictured_show(&r->pictured, g, arg.now, &after);
    int x, y, cursor = grid_cursor(g, &x, &y);
    if (!cursor)
        grid_parked(g, &x, &y);
    if (x < r->w && y < r->h)
        move(y, x);
    if (cursor != r->cursor)
        curs_set(r->cursor = cursor);
    bool whole = r->synced && r->changed > (size_t)r->w; // a typed character needs no frame
    if (whole)
        send_text(r, EXTRAS_SYNC_ON);
    send(r, &before);
    refresh();
    if (pictured_ask(&r->pictured, arg.now, &after))
        r->asked = arg.now;
    send(r, &after);
    if (whole)
        send_text(r, EXTRAS_SYNC_OFF);
}

static void real_redraw(term *t)
{
    struct real *r = real_of(t);
    r->is_shown = false;
    pictured_cleared(&r->pictured);
    clearok(curscr, TRUE);
}

// Reads the bytes that are there, or come within ms; false when there are none.
static bool hear(struct real *r, int ms)
{
    struct pollfd fd = {.fd = r->in, .events = POLLIN};
    char bytes[4096];
    if (r->gone || poll(&fd, 1, ms) <= 0)
        return false;
    ssize_t n = read(r->in, bytes, sizeof bytes);
    if (n > 0) {
        input_feed(r->input, bytes, (size_t)n);
        r->heard = clock_mono();
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        r->gone = true;
    }
    return n > 0;
}

static bool is_late(const struct real *r)
{
    int wait = input_wait_ms(r->input, r->escape_ms);
    return wait >= 0 && clock_mono() - r->heard >= wait * CLOCK_MS;
}

static struct term_event next_event(struct real *r)
{
    struct term_event ev;
    do {
        ev = input_next(r->input, false);
    } while (ev.kind == EVENT_NONE && hear(r, 0));
    return ev.kind == EVENT_NONE && is_late(r) ? input_next(r->input, true) : ev;
}

static void note_click(struct real *r, struct mouse *m)
{
    int64_t now = clock_mono();
    bool again = r->clicked.kind == MOUSE_CLICK && m->x == r->clicked.x && m->y == r->clicked.y &&
                 r->clicked_at && now - r->clicked_at < DOUBLE_MS * CLOCK_MS;
    if (m->kind != MOUSE_CLICK)
        return;
    m->kind = again ? MOUSE_DOUBLE : MOUSE_CLICK;
    r->clicked = *m;
    r->clicked_at = now;
}

// Handles a report of the terminal that is meant for us; false: it was something else.
static bool take_report(struct real *r, struct term_event *ev)
{
    if (ev->kind == EVENT_MOUSE)
        note_click(r, &ev->mouse);
    else if (ev->kind == EVENT_FOCUS)
        r->focus = ev->on ? FOCUS_HERE : FOCUS_ELSEWHERE;
    else if (ev->kind == EVENT_MODE && ev->mode == 2026) {
        r->synced = ev->on;
        r->asked = r->pictured.asked; // may have been asked meanwhile
    }
    bool changed = false, answer = pictured_take(&r->pictured, ev, &changed);
    if (answer && !r->pictured.asked)
        r->asked = 0;
    if (!changed)
        return answer || ev->kind == EVENT_FOCUS || ev->kind == EVENT_MODE;
    real_redraw(&r->base); // a terminal that knows none of the questions may have printed one
    *ev = (struct term_event){.kind = EVENT_PICTURES};
    return false;
}

// What has stopped moving is shown, and who does not answer has had the time.
static bool pictures_due(struct real *r)
{
    AUTO_BUF bytes = {0};
    int64_t now = clock_mono();
    if (pictured_late(&r->pictured, now))
        return true;
    if (!r->gone && r->is_shown)
        pictured_show(&r->pictured, r->shown, now, &bytes);
    send(r, &bytes);
    return false;
}

static struct term_event real_read(term *t)
{
    struct real *r = real_of(t);
    if (r->is_away)
        return (struct term_event){.kind = EVENT_NONE};
    if (r->resize_due) {
        r->resize_due = false;
        return (struct term_event){.kind = EVENT_RESIZE, .w = r->w, .h = r->h};
    }
    struct term_event ev = next_event(r);
    while (take_report(r, &ev))
        ev = next_event(r);
    if (ev.kind == EVENT_NONE && r->gone)
        ev.kind = EVENT_CLOSED;
    if (ev.kind == EVENT_NONE && pictures_due(r))
        ev.kind = EVENT_PICTURES;
    return ev;
}

// An answer that arrives after we have left would be typed into the shell, or an editor. Many
// terminals never answer, so this waits only if the question was asked just before.
static void give_back(struct real *r)
{
    AUTO_BUF pictures = {0};
    pictured_leave(&r->pictured, &pictures);
    send(r, &pictures);
    send(r, &r->end);
    int64_t until = r->asked + ANSWER_MS * CLOCK_MS, left;
    while (r->asked && !r->gone && (left = until - clock_mono()) > 0) {
        struct term_event ev = next_event(r);
        if (ev.kind == EVENT_NONE)
            hear(r, (int)(left / CLOCK_MS) + 1);
        else
            take_report(r, &ev);
    }
    endwin();
}

static void real_close(term *t)
{
    struct real *r = real_of(t);
    if (r->screen) {
        if (!r->is_away)
            give_back(r);
        restore_disarm();
        delscreen(r->screen);
    }
    if (r->out_file)
        fclose(r->out_file);
    if (r->in_file)
        fclose(r->in_file);
    if (r->owns_in)
        close(r->in);
    pictured_done(&r->pictured);
    grid_free(r->shown);
    input_free(r->input);
    buf_done(&r->begin);
    buf_done(&r->end);
    buf_done(&r->title);
    free(r->type);
    free(r);
}

static int real_wait_ms(const term *t)
{
    const struct real *r = real_of(t);
    int64_t now = clock_mono();
    int wait = input_wait_ms(r->input, r->escape_ms);
    int pictures = r->is_away ? -1 : pictured_wait_ms(&r->pictured, now);
    if (wait < 0)
        return pictures;
    int64_t left = wait * CLOCK_MS - (now - r->heard);
    int keys = left > 0 ? (int)(left / CLOCK_MS) + 1 : 0;
    return pictures >= 0 && pictures < keys ? pictures : keys;
}

static void real_resized(term *t)
{
    struct real *r = real_of(t);
    int w, h;
    if (!ask_size(r, &w, &h))
        return;
    // Also if the size is the same: it may have been smaller in between, and lost the part that was
    // cut off.
    r->w = w;
    r->h = h;
    r->resize_due = true;
    tell_pictures(r);
    if (r->is_away)
        return;
    resizeterm(h, w);
    real_redraw(t); // terminals move their content in different ways when they change
}

static void real_leave(term *t)
{
    struct real *r = real_of(t);
    if (r->is_away)
        return;
    give_back(r);
    r->is_away = true;
    restore_disarm();
}

static int real_enter(term *t, err *e)
{
    struct real *r = real_of(t);
    if (!r->is_away)
        return 0;
    r->is_away = false;
    arm(r);
    int w, h;
    if (ask_size(r, &w, &h) && (w != r->w || h != r->h)) {
        r->w = w;
        r->h = h;
        r->resize_due = true;
        tell_pictures(r);
    }
    resizeterm(r->h, r->w);
    real_redraw(t);
    if (reset_prog_mode() == ERR || refresh() == ERR)
        return err_set(e, ERR_IO, "cannot take the terminal again");
    take(r);
    buf_clear(&r->title);
    return 0;
}

static int real_suspend(term *t, err *e)
{
    real_leave(t);
    kill(0, SIGTSTP); // stops the whole job, as the terminal's driver does; continues at SIGCONT
    return real_enter(t, e);
}

static void real_continued(term *t)
{
    struct real *r = real_of(t);
    struct termios now;
    err e = {0};
    if (r->is_away || r->gone || tcgetattr(r->out, &now) != 0 || !(now.c_lflag & ICANON))
        return;    // no other program has had it
    real_leave(t); // so that modes are turned on only once
    real_enter(t, &e);
}

static enum focus real_focus(const term *t)
{
    return real_of(t)->focus;
}

// Applies now, and whenever the terminal is taken again.
static bool real_mouse(term *t, bool on)
{
    struct real *r = real_of(t);
    AUTO_BUF bytes = {0};
    if (!knows_mouse() || !r->extras.osc || r->extras.mux == MUX_SCREEN)
        return false;
    r->extras.mouse = on;
    if (!r->is_away) {
        extras_mouse(on, &bytes);
        send(r, &bytes);
    }
    find_strings(r);
    if (!r->is_away)
        arm(r);
    return true;
}

static void real_title(term *t, const char *text)
{
    struct real *r = real_of(t);
    AUTO_BUF bytes = {0};
    extras_title(&r->extras, text, &bytes);
    if (r->is_away || r->gone || str_eq(buf_cstr(&bytes), buf_cstr(&r->title)))
        return;
    send(r, &bytes);
    buf_clear(&r->title);
    buf_add(&r->title, bytes.data, bytes.len);
}

static int real_copy(term *t, const char *bytes, size_t n, err *e)
{
    struct real *r = real_of(t);
    AUTO_BUF sequence = {0};
    if (!r->extras.osc)
        return err_set(e, ERR_UNAVAILABLE, "this terminal has no clipboard that programs reach");
    extras_copy(&r->extras, bytes, n, &sequence);
    send(r, &sequence);
    return 0;
}

static void real_notify(term *t, const char *title, const char *words)
{
    struct real *r = real_of(t);
    AUTO_BUF sequence = {0};
    extras_notify(&r->extras, title, words, &sequence);
    if (!r->is_away && !r->gone)
        send(r, &sequence);
}

static const struct term_ops real_ops = {
    .close = real_close,
    .fd = real_fd,
    .ascii = real_ascii,
    .colors = real_colors,
    .size = real_size,
    .present = real_present,
    .redraw = real_redraw,
    .read = real_read,
    .wait_ms = real_wait_ms,
    .resized = real_resized,
    .continued = real_continued,
    .leave = real_leave,
    .enter = real_enter,
    .suspend = real_suspend,
    .focus = real_focus,
    .mouse = real_mouse,
    .title = real_title,
    .copy = real_copy,
    .notify = real_notify,
};

// Opens a file description of our own for reading: the loop makes it non-blocking; if it were
// shared with stdout, curses' writes would fail half-way. If the tty has no name (in another mount
// namespace), we use the shared one.
static void open_input(struct real *r, int fd)
{
    char name[256];
    r->in = ttyname_r(fd, name, sizeof name) == 0
                ? open(name, O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
                : -1;
    r->owns_in = r->in >= 0;
    if (!r->owns_in)
        r->in = fd;
}

// newterm installs handlers for these signals, which only the loop and restore.c may handle.
static const int taken[] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
static int start_curses(struct real *r, const struct term_options *o, err *e)
{
    struct sigaction before[ARRAY_LEN(taken)];
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        sigaction(taken[i], NULL, &before[i]);
    use_env(FALSE); // LINES and COLUMNS in the environment are wrong after a resize
    use_tioctl(TRUE);
    r->out_file = fdopen(fcntl(r->out, F_DUPFD_CLOEXEC, 3), "w");
    r->in_file = fdopen(fcntl(r->in, F_DUPFD_CLOEXEC, 3), "r");
    if (!r->out_file || !r->in_file)
        return err_errno(e, errno, "terminal");
    r->screen = newterm(o->type, r->out_file, r->in_file);
    if (!r->screen && o->terminfo.folder) {
        terminfo_begin(&o->terminfo);
        r->screen = newterm(o->type, r->out_file, r->in_file);
        terminfo_end(&o->terminfo);
    }
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        sigaction(taken[i], &before[i], NULL);
    if (!r->screen)
        return err_set(e, ERR_NOT_FOUND,
            "the terminal type \"%s\" is not known here; set TERM to xterm-256color, screen, linux "
            "or vt100, or install ncurses-term",
            o->type);
    return 0;
}

static int check_type(const char *type, err *e)
{
    const char *move_to = tigetstr("cup");
    if (move_to && move_to != (const char *)-1)
        return 0;
    return err_set(e, ERR_USAGE,
        "the terminal type \"%s\" cannot place a cursor; `firesteel run` needs no terminal", type);
}

static void set_up(struct real *r, const struct term_options *o)
{
    raw();
    noecho();
    nonl();
    idlok(stdscr, TRUE); // let the terminal scroll where that is shorter
    leaveok(stdscr, FALSE);
    draw_init(&r->draw, o->utf8, !o->no_color);
    if (ask_size(r, &r->w, &r->h))
        resizeterm(r->h, r->w);
    else
        getmaxyx(stdscr, r->h, r->w);
    r->extras = extras_of(o, tigetflag("XT") == 1, knows_mouse() && !o->no_mouse);
    const char *enter = tigetstr("smcup");
    r->extras.keeps_title = enter && enter != (const char *)-1 && strstr(enter, "\x1b[22;");
    find_strings(r);
    find_keys(r->input);
    pictured_init(&r->pictured, o, &r->extras, r->draw.colors, !r->draw.ascii);
    tell_pictures(r);
    arm(r);
    curs_set(0);
    refresh();
    take(r);
}

term *term_open(const struct term_options *o, err *e)
{
    if (!o->type || !*o->type) {
        err_set(e, ERR_USAGE, "TERM is not set: say which terminal this is, as TERM=xterm");
        return NULL;
    }
    struct termios modes;
    if (!isatty(o->out) || tcgetattr(o->in, &modes) != 0) {
        err_set(e, ERR_USAGE, "not a terminal; `firesteel run` needs none");
        return NULL;
    }
    struct real *r = mem_alloc(sizeof *r);
    r->base.ops = &real_ops;
    r->out = o->out;
    r->modes = modes;
    r->escape_ms = o->escape_ms > 0 ? o->escape_ms : 25;
    r->type = mem_strdup(o->type);
    r->input = input_new();
    r->shown = grid_new(0, 0);
    r->cursor = -1;
    open_input(r, o->in);
    if (start_curses(r, o, e) != 0 || check_type(o->type, e) != 0) {
        r->is_away = true; // nothing was sent yet
        if (r->screen)
            tcsetattr(o->out, TCSANOW, &modes);
        real_close(&r->base);
        return NULL;
    }
    set_up(r, o);
    return &r->base;
}
