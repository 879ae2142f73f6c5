// SPDX-License-Identifier: MIT
#include "tui/bench/view.h"

#include "base/clock.h"
#include "base/mem.h"
#include "tui/bench/bench_private.h"
#include "tui/part/filter.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const view *bench_top(const bench *b)
{
    return b->top;
}

const fold *bench_fold(const bench *b)
{
    return b->fold;
}

const char *bench_path(const bench *b)
{
    return b->path;
}

const char *bench_spool_dir(const bench *b)
{
    return b->spool_dir;
}

// The spools are in FOLDER/.firesteel/RUN.
char *bench_folder(const bench *b)
{
    const char *end = b->spool_dir ? strrchr(b->spool_dir, '/') : NULL;
    const char *hidden = "/.firesteel";
    size_t n = end ? (size_t)(end - b->spool_dir) : 0, m = strlen(hidden);
    if (n < m || strncmp(b->spool_dir + n - m, hidden, m) != 0)
        return NULL;
    return n == m ? mem_strdup("/") : mem_strndup(b->spool_dir, n - m);
}

const char *bench_run(const bench *b)
{
    return b->run;
}

bool bench_open_run(bench *b, const char *path)
{
    if (b->ops->open_run)
        b->ops->open_run(b->arg, path);
    return b->ops->open_run != NULL;
}

bool bench_run_deed(bench *b, enum run_deed deed, const char *folder, const char *run)
{
    AUTO_BUF said = {0};
    err e = {0};
    if (!b->ops->run_deed)
        err_set(&e, ERR_UNAVAILABLE, "that cannot be done here");
    else
        b->ops->run_deed(b->arg, deed, folder, run, &said, &e);
    if (e.code)
        bench_complain(b, "%s", e.text);
    else if (said.len)
        bench_say(b, "%s", buf_cstr(&said));
    return !e.code;
}

bool bench_has_kernel(const bench *b)
{
    return b->client != NULL;
}

bool bench_read_only(const bench *b)
{
    return b->read_only;
}

bool bench_replays(const bench *b)
{
    return b->replaying != NULL;
}

bool bench_ascii(const bench *b)
{
    return b->ascii;
}

bool bench_caret(const bench *b, int *x, int *y)
{
    *x = b->caret_x;
    *y = b->caret_y;
    return b->caret_x >= 0;
}

grid *bench_scratch(bench *b, int width, int rows)
{
    if (!b->scratch)
        b->scratch = grid_new(width, rows);
    rect has = grid_area(b->scratch);
    if (has.w != width || has.h < rows)
        grid_resize(b->scratch, width, rows);
    return b->scratch;
}

buf *bench_clipboard(bench *b)
{
    return &b->clipboard;
}

const char *bench_searched(const bench *b)
{
    return buf_cstr(&b->search);
}

void bench_search_for(bench *b, const char *words)
{
    buf_clear(&b->search);
    buf_str(&b->search, words);
    pattern_set(&b->search_pattern, buf_cstr(&b->search));
}

const struct pattern *bench_search_pattern(const bench *b)
{
    return &b->search_pattern;
}

struct past *bench_past(bench *b)
{
    return &b->past;
}

bool bench_marks(const bench *b)
{
    return b->marks;
}

void bench_show_marks(bench *b, bool shown)
{
    b->marks = shown;
}

void bench_quit(bench *b)
{
    b->ops->quit(b->arg, false);
}

enum { UNREAD_MS = 500, UNREAD_AFTER_KEY_MS = 250 };

// Milliseconds until it takes keys.
static int64_t view_unread_ms(const view *v)
{
    const bench *b = v->bench;
    if (!v->ops->asks || v->known)
        return 0;
    if (!v->shown)
        return UNREAD_MS;
    int64_t by_sight = v->shown + UNREAD_MS * CLOCK_MS;
    int64_t by_key = b->refused_at ? b->refused_at + UNREAD_AFTER_KEY_MS * CLOCK_MS : 0;
    int64_t left = (by_sight > by_key ? by_sight : by_key) - clock_mono();
    return left > 0 ? left / CLOCK_MS + 1 : 0;
}

bool view_takes_keys(const view *v)
{
    return view_unread_ms(v) == 0;
}

int view_wait_ms(const view *v)
{
    int64_t unread = view_unread_ms(v);
    return unread ? (int)unread : -1;
}

void *view_push(bench *b, const struct view_ops *ops, size_t size)
{
    view *v = mem_alloc(size);
    *v = (view){.ops = ops, .bench = b, .below = b->top};
    b->refused_at = 0;
    b->top = v;
    b->input = (struct key_input){0};
    b->dirty = true;
    return v;
}

void view_pop(view *v)
{
    bench *b = v->bench;
    for (view **at = &b->top; *at; at = &(*at)->below) {
        if (*at != v)
            continue;
        *at = v->below;
        break;
    }
    if (v->ops->done)
        v->ops->done(v);
    free(v);
    b->dirty = true;
}

void view_pop_key(view *v, key k)
{
    bench *b = v->bench;
    view_pop(v);
    bench_key_now(b, k);
}

void view_pop_paste(view *v, const char *words, size_t n)
{
    bench *b = v->bench;
    view_pop(v);
    bench_paste_now(b, words, n);
}

// Keeps a notice for :messages, and forgets the oldest.
static void keep_said(bench *b, bool error, const char *words)
{
    enum { MOST = 16 << 10 };
    char now[16];
    struct tm tm;
    time_t at = (time_t)(clock_wall() / CLOCK_SEC);
    strftime(now, sizeof now, "%H:%M:%S", localtime_r(&at, &tm));
    buf_fmt(&b->said, "%s  %s%s\n", now, error ? "error: " : "", words);
    if (b->said.len <= MOST)
        return;
    const char *rest = strchr(b->said.data + b->said.len - MOST / 2, '\n');
    AUTO_BUF kept = {0};
    buf_str(&kept, rest ? rest + 1 : "");
    buf_clear(&b->said);
    buf_str(&b->said, buf_cstr(&kept));
}

static void say(bench *b, bool error, const char *fmt, va_list args)
{
    AUTO_BUF words = {0}; // `args` may be of the last one
    buf_vfmt(&words, fmt, args);
    buf_clear(&b->say);
    buf_str(&b->say, buf_cstr(&words));
    b->said_error = error;
    b->dirty = true;
    keep_said(b, error, buf_cstr(&b->say));
}

void bench_say(bench *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(b, false, fmt, args);
    va_end(args);
}

void bench_complain(bench *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(b, true, fmt, args);
    va_end(args);
}

void bench_clip(bench *b, const char *words, size_t n, const char *what)
{
    err e = {0};
    if (!n)
        bench_say(b, "there is nothing to copy");
    else if (b->ops->copy(b->arg, words, n, &e) < 0)
        bench_complain(b, "%s", e.text);
    else
        bench_say(b, "copied %s (%zu bytes), if the terminal allows it", what, n);
}

bool bench_wraps(const bench *b)
{
    return b->wraps;
}

void bench_wrap(bench *b, bool wraps)
{
    b->wraps = wraps;
}

bool bench_numbers(const bench *b)
{
    return b->numbers;
}

void bench_show_numbers(bench *b, bool shown)
{
    b->numbers = shown;
}

int bench_write_picture(bench *b, const char *path, const cJSON *plot, err *e)
{
    if (!b->ops->picture)
        return err_set(e, ERR_UNAVAILABLE, "no pictures can be written here");
    return b->ops->picture(b->arg, path, plot, e);
}

void bench_browse(bench *b, const char *url)
{
    err e = {0};
    if (b->ops->browse && b->ops->browse(b->arg, url, &e) == 0) {
        bench_say(b, "%s", url);
        return;
    }
    err why = {0};
    bool copied = b->ops->copy(b->arg, url, strlen(url), &why) == 0;
    bench_say(b, "%s%s%s", url, copied ? " (copied)" : "",
        e.code == ERR_NOT_FOUND ? ": no browser here; $BROWSER names one" : "");
}

void bench_hush(bench *b)
{
    buf_clear(&b->say);
}

static struct filter *filter_of(view *v)
{
    return (void *)((char *)v + v->ops->filter);
}

unsigned view_mode(const view *v)
{
    if (v->ops->filter)
        return filter_mode((const void *)((const char *)v + v->ops->filter));
    return v->ops->mode ? v->ops->mode(v) : MODE_VIEW;
}

bool view_filters(view *v, enum action a)
{
    bool taken = v->ops->filter && filter_act(filter_of(v), a, bench_clipboard(v->bench));
    if (taken)
        v->ops->filtered(v);
    return taken;
}

static bool filtered(view *v, bool taken)
{
    if (taken)
        v->ops->filtered(v);
    return taken;
}

bool view_type(view *v, key k)
{
    if (v->ops->filter && filtered(v, filter_type(filter_of(v), k)))
        return true;
    return v->ops->type && v->ops->type(v, k);
}

bool view_paste(view *v, const char *words, size_t n)
{
    if (v->ops->paste)
        return v->ops->paste(v, words, n);
    return v->ops->filter && filtered(v, filter_paste(filter_of(v), words, n));
}

void view_maps(const bench *b, const struct view_ops *ops, const struct keymap *maps[VIEW_MAPS])
{
    static const struct keymap nothing = {0};
    const struct keymap *own = b && ops->name ? settings_keys(b->settings, ops->name) : NULL;
    maps[0] = own ? own : &nothing;
    maps[1] = ops->keys;
    maps[2] = ops->more ? ops->more : &nothing;
}

void view_keys(const bench *b, const struct view_ops *ops, unsigned mode, enum action a, char *out,
    size_t size)
{
    const struct keymap *maps[VIEW_MAPS];
    view_maps(b, ops, maps);
    keymap_keys(maps, VIEW_MAPS, mode, a, out, size);
}

album *bench_album(const bench *b)
{
    return b->album;
}

bool bench_mono(const bench *b)
{
    return b->mono || b->theme.theme == THEME_MONO;
}

const struct settings *bench_settings(const bench *b)
{
    return b->settings;
}
