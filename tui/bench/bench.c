// SPDX-License-Identifier: MIT
#include "tui/bench/bench.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"
#include "tui/bench/command.h"
#include "tui/bench/views.h"

#include <string.h>

enum { SEND_AFTER_MS = 500, SPIN_MS = 1000 };

bench *bench_new(const struct bench_about *about, const struct bench_ops *ops, void *arg)
{
    bench *b = mem_alloc(sizeof *b);
    *b = (bench){.ops = ops,
        .arg = arg,
        .target = mem_strdup(about->target),
        .temporary = mem_strdup(about->temporary),
        .runtime = mem_strdup(about->runtime),
        .gallery = mem_strdup(about->gallery),
        .ascii = about->ascii,
        .mono = about->mono,
        .album = about->album,
        .forgets = about->no_outputs,
        .no_ask = about->no_ask,
        .looks = about->looks,
        .has_mouse = !about->no_mouse,
        .fold = fold_new(),
        .asks = cJSON_CreateArray(),
        .history = history_new(),
        .rev = 1,
        .saved = true,
        .state = mem_strdup(""), // nothing is open yet
        .dirty = true};
    bench_set(b, about->settings);
    notebook_push(b);
    return b;
}

void bench_free(bench *b)
{
    if (!b)
        return;
    b->client = NULL; // closed already
    replaying_free(b);
    memory_free(b);
    while (b->top)
        view_pop(b->top);
    peeks_free(b);
    desk_done(b);
    variables_free(b);
    problems_free(b);
    staleness_free(b);
    head_free(b);
    slots_free(b);
    typeahead_free(b);
    fold_free(b->fold);
    fold_free(b->incoming);
    cJSON_Delete(b->document);
    cJSON_Delete(b->asks);
    cJSON_Delete(b->cluster);
    cJSON_Delete(b->cells);
    cJSON_Delete(b->meanwhile);
    history_free(b->history);
    buf_done(&b->clipboard);
    buf_done(&b->search);
    pattern_done(&b->search_pattern);
    past_done(&b->past);
    buf_done(&b->say);
    buf_done(&b->said);
    buf_done(&b->farewell);
    cJSON_Delete(b->greeting);
    free(b->joined);
    grid_free(b->scratch);
    settings_free(b->usual);
    free(b->path);
    free(b->target);
    free(b->temporary);
    free(b->runtime);
    free(b->gallery);
    inserting_done(b);
    free(b->run);
    free(b->state);
    free(b->spool_dir);
    free(b->rescue);
    free(b->rescue_marker);
    free(b->rescued);
    free(b->select);
    free(b);
}

void bench_set(bench *b, const struct settings *s)
{
    if (!s && !b->usual)
        b->usual = settings_new(NULL, 0);
    b->settings = s ? s : b->usual;
    bench_background(b, b->background);
}

void bench_background(bench *b, enum background background)
{
    bool mono = bench_mono(b);
    b->background = background;
    b->theme = theme_of(b->settings, background);
    for (size_t i = 0; mono != bench_mono(b) && i < b->n_slots; i++)
        b->slots[i]->version++; // curves are drawn in another way
    b->dirty = true;
}

void bench_notice(bench *b, const char *words)
{
    bench_say(b, "%s", words);
}

bool bench_busy(const bench *b)
{
    if (b->replaying)
        return false;
    static const char *const quiet[] = {"", "idle", "gone", "starting"};
    for (size_t i = 0; i < ARRAY_LEN(quiet); i++)
        if (str_eq(b->state, quiet[i]))
            return false;
    return true;
}

int bench_show(bench *b, const char *path, const char *words, size_t n, err *e)
{
    free(b->path);
    b->path = mem_strdup(path);
    bench_starts(b);
    AUTO_JSON *record = message_new(MESSAGE_run);
    AUTO_FREE char *copy = mem_strndup(words, n);
    json_set_str(record, "notebook", copy);
    json_set_str(record, "run", "");
    if (fold_event(b->fold, record, e) < 0)
        return -1;
    slots_follow(b);
    return 0;
}

static void turn_mouse(bench *b)
{
    bool on = !b->has_mouse;
    if (!b->ops->mouse(b->arg, on)) {
        bench_say(b, "this terminal sends no mouse");
        return;
    }
    b->has_mouse = on;
    bench_say(b, on ? "the mouse clicks and scrolls here; with Shift it selects"
                    : "the mouse is the terminal's: it selects text");
}

static bool bench_own(bench *b, enum action a)
{
    switch ((int)a) {
    case ACT_REDRAW:
        b->ops->redraw(b->arg);
        b->dirty = true;
        return true;
    case ACT_MOUSE:
        turn_mouse(b);
        return true;
    case ACT_SUSPEND:
        b->ops->suspend(b->arg);
        b->dirty = true;
        return true;
    case ACT_ANSWER:
        if (!questions_offer(b, true))
            bench_say(b, "no question is open");
        return true;
    case ACT_BACK:
    case ACT_CLOSE:
        if (b->top->below)
            view_pop(b->top);
        return true;
    }
    return replaying_act(b, a) || command_act(b, a);
}

bool bench_act(bench *b, enum action a)
{
    b->dirty = true;
    return view_filters(b->top, a) || b->top->ops->act(b->top, a) || bench_own(b, a);
}

// A view's own keys, those it shares with others, those of a line, those of time.
enum { MAPS = VIEW_MAPS + 2 };
static void maps_of(const view *v, const struct keymap *maps[MAPS])
{
    view_maps(v->bench, v->ops, maps);
    maps[VIEW_MAPS] = &line_keys;
    maps[VIEW_MAPS + 1] = v->bench->replaying ? &time_keys : &line_keys;
}

bool bench_is_two_keys(const bench *b, key k)
{
    const struct keymap *maps[MAPS];
    maps_of(b->top, maps);
    return k & KEY_ESCAPED && !keymap_knows(maps, MAPS, view_mode(b->top), k & ~(key)KEY_ESCAPED);
}

// A key that was on its way before the question could be read is no answer to it.
static bool refuses(bench *b, enum action a, bool words)
{
    bool (*risks)(enum action a) = b->top->ops->risks;
    if (view_takes_keys(b->top) || (risks && !risks(a)))
        return false;
    b->top->missed |= words;
    b->typed_at = b->refused_at = clock_mono();
    b->dirty = true;
    return true;
}

// Which key does here what this one does in other programs.
static bool say_other_key(bench *b, key k, const char *keys)
{
    char does[40];
    unsigned mode = view_mode(b->top);
    enum action a;
    for (size_t i = 0; (a = keymap_nth(&habit_keys, mode, k, i)) != ACT_NONE; i++) {
        view_keys(b, b->top->ops, mode, a, does, sizeof does);
        if (!*does)
            continue;
        bench_say(b, "%s means nothing here; %s: %s", keys, does, action_help(a));
        return true;
    }
    return false;
}

// So that nobody goes on with a key that does nothing, or waits for what it does elsewhere.
static void say_nothing_is_meant(bench *b, const struct key_input *before, key k)
{
    AUTO_BUF keys = {0}, hint = {0};
    char name[KEY_NAME_SIZE], help[40];
    for (size_t i = 0; i < before->n; i++) {
        key_print(before->keys[i], name);
        buf_fmt(&keys, "%s ", name);
    }
    key_print(k, name);
    buf_str(&keys, name);
    if (!before->n && say_other_key(b, k, name))
        return;
    view_keys(b, b->top->ops, view_mode(b->top), ACT_HELP, help, sizeof help);
    if (*help)
        buf_fmt(&hint, "%s shows the keys that work here", help);
    else if (b->top->ops->hint)
        b->top->ops->hint(b->top, &hint);
    bench_say(
        b, "%s means nothing here%s%s", buf_cstr(&keys), hint.len ? "; " : "", buf_cstr(&hint));
}

void bench_key_now(bench *b, key k)
{
    view *v = b->top;
    const struct keymap *maps[MAPS];
    maps_of(v, maps);
    k &= ~(key)KEY_ESCAPED;
    struct key_input before = b->input;
    enum action a = keymap_feed(&b->input, maps, MAPS, view_mode(v), k);
    bool words = a == ACT_NONE && key_character(k);
    if (a != ACT_REDRAW && a != ACT_SUSPEND && refuses(b, a, words)) // these two answer nothing
        return;
    b->typed_at = clock_mono();
    b->untouched = false;
    b->dirty = true;
    buf_clear(&b->say);
    if (a != ACT_NONE)
        bench_act(b, a);
    else if (b->input.n == 0 && (before.n || !view_type(v, k)))
        say_nothing_is_meant(b, &before, k);
    questions_offer(b, false); // perhaps it came while somebody typed
}

void bench_paste_now(bench *b, const char *words, size_t n)
{
    if (!refuses(b, ACT_NONE, true) && !view_paste(b->top, words, n))
        bench_say(b, "a paste does nothing here; among cells it makes cells");
    b->untouched = false;
    b->dirty = true;
}

void bench_key(bench *b, key k)
{
    if (typeahead_hold(b, k, NULL, 0))
        return;
    if (!bench_is_two_keys(b, k)) {
        bench_key_now(b, k);
        return;
    }
    bench_key_now(b, FK_ESC);
    bench_key(b, k & ~(key)(KEY_ALT | KEY_ESCAPED));
}

void bench_paste(bench *b, const char *words, size_t n)
{
    if (!typeahead_hold(b, 0, words, n))
        bench_paste_now(b, words, n);
}

// The wheel goes three rows: where nothing scrolls, among rows.
static void wheel(bench *b, bool up)
{
    enum action scroll = up ? ACT_SCROLL_UP : ACT_SCROLL_DOWN;
    enum action row = up ? ACT_ROW_PREVIOUS : ACT_ROW_NEXT;
    for (int i = 0; i < 3; i++)
        if (!b->top->ops->act(b->top, scroll))
            b->top->ops->act(b->top, row);
}

void bench_mouse(bench *b, const struct mouse *m)
{
    view *v = b->top;
    if (b->replaying && m->y == b->h - 1 && m->kind == MOUSE_CLICK)
        replaying_point(b, m->x);
    if (typeahead_waits(b) || m->y >= b->h - 1)
        return;
    b->typed_at = clock_mono();
    b->dirty = true;
    buf_clear(&b->say);
    b->input = (struct key_input){0};
    if (v->ops->mouse && v->ops->mouse(v, m))
        return;
    if (m->kind == MOUSE_UP || m->kind == MOUSE_DOWN)
        wheel(b, m->kind == MOUSE_UP);
}

bool bench_go_on(bench *b)
{
    struct typed one;
    if (!typeahead_take(b, &one))
        return false;
    if (one.key)
        bench_key_now(b, one.key);
    else
        bench_paste_now(b, one.text, one.n);
    free(one.text);
    return true;
}

void bench_flush(bench *b)
{
    if (b->client)
        remote_flush(b);
}

static void draw_from(view *v, grid *g, rect area)
{
    if (v->ops->overlay && v->below)
        draw_from(v->below, g, area);
    if (!grid_cursor(g, &v->bench->caret_x, &v->bench->caret_y))
        v->bench->caret_x = v->bench->caret_y = -1;
    grid_set_cursor(g, -1, -1);
    if (v->ops->settle)
        v->ops->settle(v, area);
    v->shown = v->shown ? v->shown : clock_mono();
    v->ops->draw(v, g, area);
}

static style as_theme(void *theme, style s)
{
    return theme_style(theme, s);
}

bool bench_draw(bench *b, grid *g)
{
    rect area = grid_area(g);
    if (!b->dirty && area.w == b->w && area.h == b->h)
        return false;
    b->w = area.w;
    b->h = area.h;
    b->dirty = false;
    grid_clear(g);
    if (area.h < 2 || area.w < 10)
        return true;
    bool timed = b->replaying && area.h > 4;
    area.h -= timed;
    problems_say(b);
    int below = status_rows(b, area.w); // a long notice hides nothing that was to be seen
    draw_from(b->top, g, (rect){0, 0, area.w, below < area.h ? area.h - below : 1});
    status_draw(b, g, (rect){0, area.h - 1, area.w, 1}, view_mode(b->top), b->top->ops->name);
    if (timed)
        timeline_draw(b, g, (rect){0, area.h, area.w, 1});
    if (theme_changes(&b->theme))
        grid_restyle_all(g, as_theme, &b->theme);
    return true;
}

void bench_redraw(bench *b)
{
    b->dirty = true;
}

static int sooner(int a, int b)
{
    return a < 0 ? b : b < 0 ? a : a < b ? a : b;
}

static int send_wait_ms(const bench *b)
{
    int64_t left = b->edited_at + SEND_AFTER_MS * CLOCK_MS - clock_mono();
    return !b->edited_at ? -1 : left > 0 ? (int)(left / CLOCK_MS) + 1 : 0;
}

int bench_wait_ms(const bench *b)
{
    int wait = b->top->ops->wait_ms ? b->top->ops->wait_ms(b->top) : -1;
    wait = sooner(wait, view_wait_ms(b->top));
    wait = sooner(wait, send_wait_ms(b));
    wait = sooner(wait, typeahead_wait_ms(b));
    wait = sooner(wait, questions_wait_ms(b));
    wait = sooner(wait, staleness_wait_ms(b));
    wait = sooner(wait, problems_wait_ms(b));
    wait = memory_due(b) || head_due(b) ? 0 : wait;
    bool ticks = bench_busy(b) || status_ticks(b); // for a running cell's clock and the data's age
    return ticks ? sooner(wait, SPIN_MS) : wait;
}

void bench_tick(bench *b)
{
    memory_work(b);
    head_work(b);
    staleness_tick(b);
    problems_tick(b);
    slots_age(b);
    if (send_wait_ms(b) == 0)
        remote_flush(b);
    questions_offer(b, false);
    b->dirty = true;
}

const char *bench_farewell(const bench *b)
{
    return b->farewell.len ? buf_cstr(&b->farewell) : NULL;
}
