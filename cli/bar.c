// SPDX-License-Identifier: MIT
#include "cli/bar.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "cli/say.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

// Without a terminal: seconds until the first line, and the share of the whole that makes another.
static const double first_line = 10, quarter = 0.25;
enum { SHORT_MS = 1000, LOOK_MS = 200, CELLS = 20, CELLS_LEAST = 6, FRAME = 8, LEAST = 40 };

// A work that is not over.
struct shown {
    int64_t id;
    double told_at, told_part; // without a terminal: when the last line came, and the part done
    struct shown *next;
};

struct bar {
    struct cli *cli;
    struct shown *works; // the oldest first
    bool rewrites, drawn;
};

bar *bar_new(struct cli *cli)
{
    bar *b = mem_alloc(sizeof *b);
    const char *term = cli_getenv(cli, "TERM");
    *b = (bar){.cli = cli, .rewrites = cli->err_tty && !str_eq(term, "dumb")};
    return b;
}

void bar_free(bar *b)
{
    if (!b)
        return;
    bar_clear(b);
    for (struct shown *s = b->works, *next; s; s = next) {
        next = s->next;
        free(s);
    }
    free(b);
}

void bar_clear(bar *b)
{
    if (!b->drawn)
        return;
    say_redraw(stderr);
    fflush(stderr);
    b->drawn = false;
}

static struct shown **find(bar *b, int64_t id)
{
    struct shown **at = &b->works;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

// "[=======>            ]  34% "
static void picture(double part, int cells, buf *out)
{
    int full = (int)(part * cells);
    buf_char(out, '[');
    for (int i = 0; i < cells; i++)
        buf_char(out, i < full ? '=' : i == full ? '>' : ' ');
    buf_fmt(out, "] %3d%% ", (int)(part * 100));
}

// The terminal may have another size by now.
static size_t width_of(const bar *b)
{
    struct winsize size;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= LEAST;
    return (size_t)(known ? size.ws_col : b->cli->width) - 1;
}

// Of words that do not fit, the last ones go.
static size_t fitting(const buf *line, int room)
{
    int width;
    size_t n = text_fit(buf_cstr(line), line->len, room, &width), all = n;
    while (n > 0 && n < line->len && strncmp(line->data + n, ", ", 2) != 0)
        n--;
    return n ? n : all;
}

static void draw(bar *b, const struct bar_work *w, double part)
{
    size_t room = width_of(b), others = 0;
    AUTO_BUF line = {0}, words = {0};
    buf_fmt(&words, "%s: %s", w->what, w->text);
    for (const struct shown *s = b->works->next; s; s = s->next)
        others++;
    if (others)
        buf_fmt(&words, " (and %zu more)", others);
    int left = (int)room - text_width(buf_cstr(&words), words.len, 0) - FRAME;
    if (!isnan(part) && left >= CELLS_LEAST)
        picture(part, left < CELLS ? left : CELLS, &line);
    else if (!isnan(part))
        buf_fmt(&line, "%d%% ", (int)(part * 100));
    buf_add(&line, words.data, words.len);
    say_redraw(stderr);
    say_text(b->cli, stderr, buf_cstr(&line), fitting(&line, (int)room));
    fflush(stderr);
    b->drawn = true;
}

static void tell(bar *b, struct shown *s, const struct bar_work *w, double part)
{
    bool time = w->elapsed >= first_line && w->elapsed >= 2 * s->told_at;
    bool more = w->elapsed >= s->told_at + first_line && part >= s->told_part + quarter;
    if (!time && !more)
        return;
    s->told_at = w->elapsed;
    s->told_part = isnan(part) ? 0 : part;
    AUTO_BUF line = {0};
    buf_fmt(&line, "%s: %s\n", w->what, w->text);
    say_text(b->cli, stderr, buf_cstr(&line), line.len);
    fflush(stderr);
}

void bar_show(bar *b, int64_t id, const struct bar_work *w)
{
    struct shown **at = find(b, id);
    double part = w->total > 0 ? fmin(fmax(w->done / w->total, 0), 1) : NAN;
    if (!*at) {
        *at = mem_alloc(sizeof **at);
        **at = (struct shown){.id = id};
    }
    if (!b->rewrites)
        tell(b, *at, w, part);
    else if (*at == b->works) // the oldest one has the line
        draw(b, w, part);
}

void bar_end(bar *b, int64_t id)
{
    struct shown **at = find(b, id), *s = *at;
    if (!s)
        return;
    if (s == b->works)
        bar_clear(b);
    *at = s->next;
    free(s);
}

struct own_work {
    struct work work;
    struct work_watch watch;
    bar *bar;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool over, shows, survives;
    struct sigaction before[2];
};

static const int signals[] = {SIGINT, SIGTERM};
static volatile sig_atomic_t interrupted;

static void on_signal(int signum)
{
    interrupted = signum;
}

static bool goes_on(void *arg)
{
    return !interrupted;
}

static void show(own_work *w)
{
    AUTO_BUF words = {0};
    struct work_state s = work_look(&w->work, clock_mono());
    if (s.elapsed * 1000 < SHORT_MS)
        return;
    work_words(&s, &words);
    bar_show(w->bar, 0,
        &(struct bar_work){s.what, buf_cstr(&words), (double)s.done, (double)s.total, s.elapsed});
}

static void *watch(void *arg)
{
    own_work *w = arg;
    pthread_mutex_lock(&w->lock);
    while (!w->over) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        int64_t at = until.tv_sec * CLOCK_SEC + until.tv_nsec + LOOK_MS * CLOCK_MS;
        until = (struct timespec){at / CLOCK_SEC, at % CLOCK_SEC};
        pthread_cond_timedwait(&w->ended, &w->lock, &until);
        if (!w->over)
            show(w);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

// An ignored signal stays ignored. A second one of its kind ends the program.
void own_work_survives(own_work *w)
{
    interrupted = 0;
    w->survives = true;
    for (size_t i = 0; i < 2; i++) {
        struct sigaction ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_RESETHAND};
        sigaction(signals[i], NULL, &w->before[i]);
        if (w->before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &ours, NULL);
    }
}

own_work *own_work_begin(struct cli *cli, const char *what, enum work_unit unit, const char *noun)
{
    own_work *w = mem_alloc(sizeof *w);
    pthread_condattr_t monotonic;
    sigset_t all, before;
    *w = (own_work){.bar = bar_new(cli)};
    work_begin(&w->work, what, unit, noun);
    w->watch = (struct work_watch){&w->work, goes_on, NULL};
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    w->shows = pthread_create(&w->thread, NULL, watch, w) == 0; // without it nothing is shown
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return w;
}

const struct work_watch *own_work_watch(const own_work *w)
{
    return &w->watch;
}

void own_work_clear(own_work *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    bar_clear(w->bar);
    pthread_mutex_unlock(&w->lock);
}

void own_work_end(own_work *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->over = true;
    pthread_cond_signal(&w->ended);
    pthread_mutex_unlock(&w->lock);
    if (w->shows)
        pthread_join(w->thread, NULL);
    for (size_t i = 0; i < 2 && w->survives; i++)
        sigaction(signals[i], &w->before[i], NULL);
    pthread_cond_destroy(&w->ended);
    pthread_mutex_destroy(&w->lock);
    bar_free(w->bar);
    free(w);
}
