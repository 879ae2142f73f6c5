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
static const char in_messages[] = " :messages"; // has all of a notice that is cut

static int width(const char *s)
{
    return text_width(s, strlen(s), 0);
}

// The last notice, else what is wrong where the cursor is.
static const buf *said(const bench *b)
{
    return b->say.len ? &b->say : &b->problems.said;
}

static void add_mode(const bench *b, unsigned mode, const char *place, int columns, buf *out)
{
    bool narrow = columns < NARROW;
    const char *own = b->top->ops->mode_name ? b->top->ops->mode_name(b->top) : NULL;
    const char *name = own                   ? own
                       : mode & MODE_EDIT    ? "EDIT"
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
    enum run_state past = b->replaying ? fold_state(b->fold) : RUN_OK;
    bool bad = str_eq(b->state, "gone") || str_eq(b->state, "wedged") ||
               (past != RUN_OK && past != RUN_RUNNING);
    bool works = str_eq(b->state, "busy") || str_eq(b->state, "asking");
    st.fg = bad ? COLOR_INDEX(1) : works ? COLOR_INDEX(3) : COLOR_INDEX(2);
    return st;
}

// The cell that runs, or that asks when `id` says so.
static const struct run_cell *find_running(const bench *b, const char *id, size_t *at)
{
    const struct run_cell *r = id ? fold_cell_by_id(b->fold, id, NULL) : NULL;
    r = r ? r : fold_running(b->fold);
    return r && slot_by_id(b, r->id, at) ? r : NULL;
}

// "[3] Train 1m12s" in so many columns; nothing if the name would be too short to recognise.
static void running_text(const bench *b, const char *asking, int columns, buf *out)
{
    size_t at;
    AUTO_BUF name = {0}, since = {0};
    const struct run_cell *r = find_running(b, asking, &at);
    if (!r)
        return;
    slot_name(b, at, &name);
    int64_t seconds = (bench_now(b) - r->started) / CLOCK_SEC;
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
    size_t n = fold_in_state(b->fold, STATE_QUEUED);
    if (n)
        buf_fmt(out, brief ? " +%zu" : n == 1 ? ", %zu waits" : ", %zu wait", n);
}

// The kernel's state, the cell that it is about, and how many wait. It takes a third of the
// row, a bit more on a wide screen, and the columns that are free beside the left part.
static void kernel_text(const bench *b, int columns, int free_columns, buf *out)
{
    bool asks = b->asks->child && !str_eq(b->state, "gone"), brief = columns < WIDE;
    bool busy = !asks && str_eq(b->state, "busy");
    const char *state = asks ? "asking" : !busy ? b->state : brief ? "" : "running";
    AUTO_BUF what = {0}, more = {0};
    if (!*b->state)
        return;
    add_waiting(b, brief, &more);
    int share = brief ? columns / 3 : columns * 2 / 5;
    int room =
        (free_columns > share ? free_columns : share) - width(state) - width(buf_cstr(&more)) - 4;
    if (b->top->ops->asks) // the dialog says it
        room = 0;
    if (asks || busy || str_eq(state, "interrupting"))
        running_text(b, asks ? json_str(b->asks->child, "cell") : NULL, room, &what);
    if (busy && !what.len)
        state = "busy";
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

bool bench_in_sandbox(const bench *b, bool *processes)
{
    *processes = json_bool_or(b->cluster, "processes", false);
    return json_bool_or(b->cluster, "sandbox", false);
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

static void back_text(const bench *b, const struct view_ops *ops, unsigned mode, buf *out)
{
    char name[40];
    view_keys(b, ops, mode, ACT_CLOSE, name, sizeof name);
    if (!name[0])
        view_keys(b, ops, mode, ACT_BACK, name, sizeof name);
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
        buf_str(out, b->replaying ? "< > cells  , . outputs  ? help" : "? help");
    else if (mode & MODE_LINE && !b->top->ops->overlay)
        buf_str(out, "Enter keeps it, Esc clears it");
    else if (b->top->ops->hint)
        b->top->ops->hint(b->top, out);
    else
        back_text(b, b->top->ops, mode, out);
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

// On a full screen what can be done there matters more than the file's name, and what is wrong with
// the server stands in the title.
static bool is_elsewhere(const bench *b, unsigned mode)
{
    return b->top->ops->hint && !(mode & (MODE_COMMAND | MODE_EDIT));
}

// The end of the last hint that fits; hints have two blanks between them.
static size_t hints_fit(const char *words, size_t n, int room)
{
    int fits;
    size_t fit = text_fit(words, n, room, &fits);
    while (fit > 0 && fit < n && !str_starts(words + fit, "  "))
        fit--;
    return fit;
}

// As many of the hints as fit, and always the last one, which is how to go back.
static void put_hints(grid *g, rect area, int x, int room, const char *words)
{
    size_t all = strlen(words), last = all;
    while (last > 0 && !str_starts(words + last, "  "))
        last--;
    size_t first = last ? hints_fit(words, last, room - width(words + last)) : 0;
    if (width(words) <= room || !first) {
        grid_put_short(g, area, x, area.y, room, words, all, bar);
        return;
    }
    x += grid_put(g, area, x, area.y, words, first, bar);
    grid_put(g, area, x, area.y, words + last, all - last, bar);
}

// Shares the row of a full screen: the cluster is seen whole, as long as that is not most of the
// row; the file goes before a hint does.
static void share_elsewhere(int room, int hints, int *name, int *cluster)
{
    int most = room / 2 > CLUSTER_LEAST ? room / 2 : CLUSTER_LEAST;
    *cluster = *cluster < most ? *cluster : most;
    int left = room - *cluster - hints;
    *name = left >= *name ? *name : left >= NAME_LEAST ? left : 0;
}

// What stands on the left.
struct left {
    buf head, cluster, hint, marks;
    const char *file;
};

static void left_text(const bench *b, unsigned mode, const char *place, int columns, struct left *l)
{
    const char *slash = strrchr(b->path ? b->path : "", '/');
    l->file = slash ? slash + 1 : b->path ? b->path : *b->state ? "untitled" : "";
    buf_str(&l->marks, !b->saved || b->edited_at ? " +" : "");
    bool locked = b->replaying || b->looks || b->no_effects;
    buf_str(&l->marks, !b->read_only && !locked ? ""
                       : columns < NARROW       ? " (ro)"
                       : locked                 ? " (read-only)"
                                                : " (watching)");
    add_mode(b, mode, place, columns, &l->head);
    cluster_text(b, &l->cluster);
    hint_text(b, mode, &l->hint);
}

static void left_done(struct left *l)
{
    buf_done(&l->head);
    buf_done(&l->cluster);
    buf_done(&l->hint);
    buf_done(&l->marks);
}

enum { SYMBOL = 4 }; // "  ⎈ "

// How many columns it needs.
static int left_width(const bench *b, const struct left *l)
{
    int head = width(buf_cstr(&l->head));
    if (said(b)->len)
        return head + width(buf_cstr(said(b))) + 2;
    return head + width(l->file) + width(buf_cstr(&l->marks)) +
           (l->cluster.len ? SYMBOL + width(buf_cstr(&l->cluster)) : 0) +
           (l->hint.len ? width(buf_cstr(&l->hint)) + 2 : 0);
}

// The parts of the last row in so many columns.
struct parts {
    struct left left;
    buf kernel, away;
    int right, age; // columns of the last two
};

static void parts_of(const bench *b, unsigned mode, const char *place, int columns, struct parts *p)
{
    *p = (struct parts){0};
    left_text(b, mode, place, columns, &p->left);
    bench_away(b, columns < NARROW || is_elsewhere(b, mode), &p->away);
    p->age = p->away.len ? width(buf_cstr(&p->away)) + 2 : 0;
    p->age = p->age > columns / 2 ? columns / 2 : p->age;
    kernel_text(b, columns, columns - p->age - left_width(b, &p->left), &p->kernel);
    p->right = width(buf_cstr(&p->kernel));
}

static void parts_done(struct parts *p)
{
    left_done(&p->left);
    buf_done(&p->kernel);
    buf_done(&p->away);
}

// The rows above the last one that the notice needs: none where it fits in `room` columns of that.
static int said_rows(const bench *b, int room, int columns)
{
    int rows = 0;
    const char *words = buf_cstr(said(b));
    if (width(words) < room)
        return 0;
    for (size_t n = said(b)->len, at = 0; at < n && rows < SAID_ROWS; rows++)
        at += layout_wrap(words + at, n - at, columns - 2);
    return rows;
}

int status_rows(const bench *b, int columns)
{
    struct parts p;
    if (!said(b)->len)
        return 1;
    parts_of(b, view_mode(b->top), b->top->ops->name, columns, &p);
    int rows = 1 + said_rows(b, columns - p.right - p.age, columns);
    parts_done(&p);
    return rows;
}

// Draws the last notice: beside the names, or over them; or, if it is still longer, in rows above
// them, until the next key.
static void draw_said(const bench *b, grid *g, rect area, int x)
{
    bool wrong = b->say.len ? b->said_error : !b->problems.warns;
    style st = wrong ? style_over(bar, LOOK_ERROR) : bar;
    rect all = grid_area(g);
    const char *words = buf_cstr(said(b));
    size_t n = said(b)->len, at = 0;
    int rows = said_rows(b, area.w, all.w);
    if (!rows) {
        grid_fill(g, (rect){x - 1, area.y, area.x + area.w - x + 1, 1}, ' ', bar);
        grid_put_short(g, area, x, area.y, area.x + area.w - x, words, n, st);
        return;
    }
    rect above = rect_clip((rect){0, area.y - rows, all.w, rows}, all);
    grid_fill(g, above, ' ', bar);
    for (int y = area.y - rows; y < area.y - 1; y++) {
        size_t fit = layout_wrap(words + at, n - at, all.w - 2);
        grid_put(g, all, 1, y, words + at, fit, st);
        at += fit;
    }
    int more = text_width(words + at, n - at, 0) > all.w - 2 ? width(in_messages) : 0;
    x = 1 + grid_put_short(g, all, 1, area.y - 1, all.w - 2 - more, words + at, n - at, st);
    if (more)
        grid_put(g, all, x, area.y - 1, in_messages, strlen(in_messages), st);
}

static void draw_left(const bench *b, grid *g, rect area, unsigned mode, const struct left *l)
{
    const char *marks = buf_cstr(&l->marks);
    int x = area.x;
    put(g, area, &x, area.w, buf_cstr(&l->head), style_over(bar, LOOK_BOLD));
    int symbol = l->cluster.len ? SYMBOL : 0;
    int room = area.w - x - width(marks) - symbol;
    int name_w = width(l->file), cluster_w = width(buf_cstr(&l->cluster));
    if (is_elsewhere(b, mode))
        share_elsewhere(room, width(buf_cstr(&l->hint)) + 2, &name_w, &cluster_w);
    else
        share(room, &name_w, &cluster_w);
    put(g, area, &x, name_w, l->file, bar);
    put(g, area, &x, area.w, name_w ? marks : marks + (strncmp(marks, " +", 2) == 0 ? 2 : 0), bar);
    if (symbol) {
        put(g, area, &x, symbol, "  ⎈ ", bar);
        put(g, area, &x, cluster_w, buf_cstr(&l->cluster), bar);
    }
    room = area.x + area.w - x - 2;
    if (said(b)->len)
        draw_said(b, g, area, width(buf_cstr(said(b))) <= room ? x + 2 : area.x + 1);
    else if (l->hint.len && room >= 6)
        put_hints(g, area, x + 2, room, buf_cstr(&l->hint));
}

void status_draw(const bench *b, grid *g, rect area, unsigned mode, const char *place)
{
    struct parts p;
    parts_of(b, mode, place, area.w, &p);
    grid_fill(g, area, ' ', bar);
    grid_put(g, area, area.x + area.w - p.right, area.y, buf_cstr(&p.kernel), p.kernel.len,
        state_style(b));
    rect left = {area.x, area.y, area.w - p.right - p.age, 1};
    grid_put_short(g, area, left.x + left.w + 1, area.y, p.age - 2, buf_cstr(&p.away), p.away.len,
        style_over(bar, LOOK_ERROR));
    draw_left(b, g, left, mode, &p.left);
    parts_done(&p);
}
