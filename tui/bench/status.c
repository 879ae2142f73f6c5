// SPDX-License-Identifier: MIT
// The last row: mode, file, cluster and hints on the left, the kernel on the right; or the last
// notice, until the next key. When there is too little room, hints are dropped first; then names
// are shortened, the cluster's last: a person must always see what will be changed.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/bench/bench_private.h"
#include "tui/grid/layout.h"

#include <string.h>

enum { NARROW = 60, WIDE = 100, NAME_LEAST = 6, CLUSTER_LEAST = 12, SAID_ROWS = 6 };
static const style bar = {.attrs = ATTR_REVERSE};

static int width(const char *s)
{
    return text_width(s, strlen(s), 0);
}

static void add_mode(const bench *b, unsigned mode, const char *place, int columns, buf *out)
{
    bool narrow = columns < NARROW;
    const char *name = mode & MODE_EDIT      ? "EDIT"
                       : mode & MODE_COMMAND ? (narrow ? "CMD" : "COMMAND")
                                             : place;
    buf_fmt(out, narrow ? " %s " : " %-8s ", name);
    for (size_t i = 0; i < b->input.n; i++) { // the keys typed so far of a sequence
        char key_name[KEY_NAME_SIZE];
        key_print(b->input.keys[i], key_name);
        buf_fmt(out, "%s ", key_name);
    }
}

static style state_style(const bench *b)
{
    style st = bar;
    bool bad = str_eq(b->state, "gone") || str_eq(b->state, "wedged");
    bool works = str_eq(b->state, "busy") || str_eq(b->state, "asking");
    st.fg = bad ? COLOR_INDEX(1) : works ? COLOR_INDEX(3) : COLOR_INDEX(2);
    return st;
}

static size_t waiting(const bench *b)
{
    size_t n = 0;
    for (size_t i = 0; i < fold_count(b->fold); i++)
        n += fold_cell(b->fold, i)->state == STATE_QUEUED;
    return n;
}

// The cell that runs, or that asks when `id` says so.
static const struct run_cell *find_running(const bench *b, const char *id, size_t *at)
{
    const struct run_cell *r = id ? fold_cell_by_id(b->fold, id, NULL) : NULL;
    for (size_t i = 0; !r && i < fold_count(b->fold); i++)
        if (fold_cell(b->fold, i)->state == STATE_RUNNING)
            r = fold_cell(b->fold, i);
    return r && slot_by_id(b, r->id, at) ? r : NULL;
}

// "[3] Train 1m12s" in so many columns; nothing where its name would not be known again.
static void running_text(const bench *b, const char *asking, int columns, buf *out)
{
    size_t at;
    AUTO_BUF name = {0}, since = {0};
    const struct run_cell *r = find_running(b, asking, &at);
    if (!r)
        return;
    slot_name(b, at, &name);
    int64_t seconds = (clock_wall() - r->started) / CLOCK_SEC;
    if (!asking && r->started && seconds > 0)
        duration_format(&since, seconds * CLOCK_SEC);
    AUTO_FREE char *count = str_fmt("[%ld] ", r->count);
    int left = columns - width(count) - (since.len ? width(buf_cstr(&since)) + 1 : 0), fits;
    if (left < NAME_LEAST)
        return;
    size_t n = text_fit(buf_cstr(&name), name.len, left, &fits);
    if (n < name.len)
        n = text_fit(buf_cstr(&name), name.len, left - 1, &fits);
    buf_fmt(out, " %s", count);
    buf_add(out, name.data, n);
    buf_str(out, n < name.len ? "…" : "");
    buf_fmt(out, "%s%s", since.len ? " " : "", buf_cstr(&since));
}

static void add_waiting(const bench *b, bool brief, buf *out)
{
    size_t n = waiting(b);
    if (n)
        buf_fmt(out, brief ? " +%zu" : n == 1 ? ", %zu waits" : ", %zu wait", n);
}

// The kernel's state, the cell that it is about, and how many wait: in a third of the row, and a
// bit more where there is room.
static void kernel_text(const bench *b, int columns, buf *out)
{
    bool asks = b->asks->child && !str_eq(b->state, "gone"), brief = columns < WIDE;
    bool busy = !asks && str_eq(b->state, "busy");
    const char *state = asks ? "asking" : !busy ? b->state : brief ? "" : "running";
    AUTO_BUF what = {0}, more = {0};
    if (!*b->state)
        return;
    add_waiting(b, brief, &more);
    int room = (brief ? columns / 3 : columns * 2 / 5) - width(state) - width(buf_cstr(&more)) - 4;
    if (b->top->ops->asks) // the dialog says it
        room = 0;
    if (asks || busy || str_eq(state, "interrupting"))
        running_text(b, asks ? json_str(b->asks->child, "cell") : NULL, room, &what);
    if (busy && !what.len)
        state = "busy";
    const notebook *nb = fold_notebook(b->fold);
    if (nb && notebook_language(nb))
        buf_fmt(out, " %s, not run", notebook_language(nb));
    buf_fmt(out, " ●%s%s%s%s ", *state ? " " : "", state, buf_cstr(&what), buf_cstr(&more));
}

bool status_ticks(const bench *b)
{
    return json_str(b->cluster, "away") != NULL;
}

void bench_away(const bench *b, bool brief, buf *out)
{
    const char *why = json_str(b->cluster, "away");
    int64_t heard = json_int_or(b->cluster, "heard", 0), now = clock_wall();
    if (!why)
        return;
    if (heard)
        duration_age(out, now > heard ? now - heard : 0);
    buf_str(out, heard ? " old" : "server away");
    if (!brief)
        buf_fmt(out, ": %s", why);
}

static void cluster_text(const bench *b, buf *out)
{
    const char *context = json_str(b->cluster, "context"), *ns = json_str(b->cluster, "namespace");
    if (json_bool_or(b->cluster, "sandbox", false))
        context = "sandbox";
    if (context && *context)
        buf_fmt(out, "%s%s%s", context, ns && *ns ? "/" : "", ns && *ns ? ns : "");
    else if (b->target)
        buf_str(out, b->target);
}

static void back_text(const struct view_ops *ops, unsigned mode, buf *out)
{
    char name[40];
    view_keys(ops, mode, ACT_CLOSE, name, sizeof name);
    if (!name[0])
        view_keys(ops, mode, ACT_BACK, name, sizeof name);
    if (name[0])
        buf_fmt(out, "%s back", name);
}

static void hint_text(const bench *b, unsigned mode, buf *out)
{
    if (b->input.n)
        return;
    if (b->asks->child && !b->top->ops->overlay)
        buf_str(out,
            mode & MODE_EDIT ? "Esc, then A answers the question  " : "A answers the question  ");
    if (mode & MODE_EDIT)
        buf_str(out, "Esc leaves, C-e runs");
    else if (mode & MODE_COMMAND)
        buf_str(out, "? help");
    else if (mode & MODE_LINE && !b->top->ops->overlay)
        buf_str(out, "Enter keeps it, Esc clears it");
    else if (b->top->ops->hint)
        b->top->ops->hint(b->top, out);
    else
        back_text(b->top->ops, mode, out);
}

// Shares `room` columns between the names; the file's name is shortened first.
static void share(int room, int *name, int *cluster)
{
    int excess = *name + *cluster - room;
    if (excess > 0 && *name > NAME_LEAST) {
        int give = *name - NAME_LEAST < excess ? *name - NAME_LEAST : excess;
        *name -= give;
        excess -= give;
    }
    if (excess > 0 && *cluster > CLUSTER_LEAST) {
        int give = *cluster - CLUSTER_LEAST < excess ? *cluster - CLUSTER_LEAST : excess;
        *cluster -= give;
        excess -= give;
    }
    if (excess > 0)
        *name = *name > excess ? *name - excess : 0;
}

static void put(grid *g, rect area, int *x, int w, const char *words, style st)
{
    *x += grid_put_short(g, area, *x, area.y, w, words, strlen(words), st);
}

// Draws the last notice: beside the names, or over them; or, if it is still longer, in rows above
// them, until the next key.
static void draw_said(const bench *b, grid *g, rect area, int x)
{
    style st = b->said_error ? style_over(bar, LOOK_ERROR) : bar;
    size_t n = strlen(b->say), at = 0, fit;
    int rows = 0;
    if (width(b->say) < area.w) {
        grid_fill(g, (rect){x - 1, area.y, area.x + area.w - x + 1, 1}, ' ', bar);
        grid_put_short(g, area, x, area.y, area.x + area.w - x, b->say, n, st);
        return;
    }
    rect all = grid_area(g);
    for (; at < n && rows < SAID_ROWS; at += fit, rows++)
        fit = layout_wrap(b->say + at, n - at, all.w - 2);
    rect above = rect_clip((rect){0, area.y - rows, all.w, rows}, all);
    grid_fill(g, above, ' ', bar);
    at = 0;
    for (int y = area.y - rows; y < area.y; at += fit, y++) {
        fit = layout_wrap(b->say + at, n - at, all.w - 2);
        grid_put(g, all, 1, y, b->say + at, fit, st);
    }
}

static void draw_left(bench *b, grid *g, rect area, unsigned mode, const char *place)
{
    AUTO_BUF head = {0}, cluster = {0}, hint = {0};
    const char *slash = strrchr(b->path ? b->path : "", '/');
    const char *file = slash ? slash + 1 : b->path ? b->path : *b->state ? "untitled" : "";
    AUTO_FREE char *marks = str_fmt("%s%s", !b->saved || b->edited_at ? " +" : "",
        b->read_only ? (area.w < NARROW ? " (ro)" : " (watching)") : "");
    int x = area.x;
    add_mode(b, mode, place, area.w, &head);
    cluster_text(b, &cluster);
    hint_text(b, mode, &hint);
    put(g, area, &x, area.w, buf_cstr(&head), style_over(bar, LOOK_BOLD));
    int symbol = cluster.len ? 4 : 0; // "  ⎈ "
    int room = area.w - x - width(marks) - symbol;
    int name_w = width(file), cluster_w = width(buf_cstr(&cluster));
    // In views other than the notebook, what can be done there matters more than the file's name.
    bool elsewhere = b->top->ops->hint && !(mode & (MODE_COMMAND | MODE_EDIT));
    share(room - (elsewhere ? width(buf_cstr(&hint)) + 2 : 0), &name_w, &cluster_w);
    put(g, area, &x, name_w, file, bar);
    put(g, area, &x, area.w, marks, bar);
    if (cluster.len) {
        put(g, area, &x, symbol, "  ⎈ ", bar);
        put(g, area, &x, cluster_w, buf_cstr(&cluster), bar);
    }
    room = area.x + area.w - x - 2;
    if (b->say[0])
        draw_said(b, g, area, width(b->say) <= room ? x + 2 : area.x + 1);
    else if (hint.len && room >= 6)
        grid_put_short(g, area, x + 2, area.y, room, buf_cstr(&hint), hint.len, bar);
}

void status_draw(bench *b, grid *g, rect area, unsigned mode, const char *place)
{
    AUTO_BUF kernel = {0}, away = {0};
    kernel_text(b, area.w, &kernel);
    bench_away(b, area.w < NARROW, &away);
    int right = width(buf_cstr(&kernel)), age = away.len ? width(buf_cstr(&away)) + 2 : 0;
    age = age > area.w / 2 ? area.w / 2 : age;
    grid_fill(g, area, ' ', bar);
    grid_put(
        g, area, area.x + area.w - right, area.y, buf_cstr(&kernel), kernel.len, state_style(b));
    rect left = {area.x, area.y, area.w - right - age, 1};
    grid_put_short(g, area, left.x + left.w + 1, area.y, age - 2, buf_cstr(&away), away.len,
        style_over(bar, LOOK_ERROR));
    draw_left(b, g, left, mode, place);
}
