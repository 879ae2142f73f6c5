// SPDX-License-Identifier: MIT
// What a view is promised: doc/terminal.md's smallest one works as it stands there, and one over
// another is settled and drawn after it.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tests/support/tap.h"
#include "tui/bench/views.h"

#include <string.h>

// Declared as the other views are in views.h.
void count_push(bench *b);
extern const struct view_ops count_view_ops;
#include "tests/unit/tui/smallest_view.c"

// Nobody answers.
void client_send(client *c, cJSON *message)
{
    cJSON_Delete(message);
}
void client_hello(client *c, int64_t from, bool owner, bool person, const cJSON *more)
{
}
void client_hello_looking(client *c)
{
}
void client_request(
    client *c, cJSON *message, void (*reply)(void *arg, const cJSON *reply), void *arg)
{
    cJSON_Delete(message);
}

static bench *open_bench(void)
{
    static const struct bench_ops ops = {0};
    static const char cells[] = "-- %% First\nx = 1\n-- %% Second\ny = 2\n";
    err e = {0};
    bench *b = bench_new(&(struct bench_about){0}, &ops, NULL);
    CHECK_OK(bench_show(b, "two.lua", cells, strlen(cells), &e) == 0, e);
    return b;
}

static void press(bench *b, const char *name)
{
    size_t n;
    bench_key(b, key_parse(name, strlen(name), &n));
}

static const char *row(bench *b, grid *g, int y)
{
    static buf words;
    buf_clear(&words);
    bench_draw(b, g);
    grid_row_text(g, y, &words);
    return buf_cstr(&words);
}

TEST(the_smallest_view_is_drawn_and_has_its_keys)
{
    bench *b = open_bench();
    grid *g = grid_new(60, 8);
    CHECK_HAS(row(b, g, 0), "First");
    count_push(b);
    CHECK_HAS(row(b, g, 0), "0 cells have run");
    CHECK_STR(row(b, g, 1), ""); // nothing of the notebook shows
    CHECK_HAS(row(b, g, 7), "count");
    CHECK_HAS(row(b, g, 7), "Esc back");
    press(b, "C-c");
    CHECK_HAS(row(b, g, 7), "nothing to interrupt here");
    press(b, "Esc");
    CHECK_HAS(row(b, g, 0), "First");
    grid_free(g);
    bench_free(b);
}

TEST(a_notice_is_shown_whole_in_up_to_six_rows)
{
    bench *b = open_bench();
    grid *g = grid_new(60, 12);
    AUTO_BUF words = {0};
    for (int i = 0; i < 30; i++)
        buf_fmt(&words, "wörd-%02d ", i);
    bench_complain(b, "%send", buf_cstr(&words));
    CHECK_HAS(row(b, g, 6), "wörd-00");
    CHECK_HAS(row(b, g, 10), "wörd-29 end");
    for (int i = 30; i < 60; i++)
        buf_fmt(&words, "wörd-%02d ", i);
    bench_say(b, "%send", buf_cstr(&words));
    CHECK_HAS(row(b, g, 5), "wörd-00");
    CHECK_HAS(row(b, g, 10), "…"); // there is more of it
    press(b, "k");
    CHECK_STR(row(b, g, 6), "");
    grid_free(g);
    bench_free(b);
}

// Two keys in one packet, as on a slow line: Alt with the second key if that is bound, else two
// keys.
TEST(esc_and_a_key_in_one_are_two_where_alt_is_free)
{
    bench *b = open_bench();
    grid *g = grid_new(60, 8);
    const key esc = KEY_ALT | KEY_ESCAPED;
    CHECK_HAS(row(b, g, 7), "COMMAND");
    press(b, "Enter");
    CHECK_HAS(row(b, g, 7), "EDIT");
    bench_key(b, 'j' | esc); // Esc, j
    CHECK_HAS(row(b, g, 7), "COMMAND");
    press(b, "Enter");
    bench_key(b, ':' | esc);
    CHECK_HAS(row(b, g, 7), "palette");
    bench_key(b, 'k' | esc); // leaves the palette, and goes up
    CHECK_HAS(row(b, g, 7), "COMMAND");
    press(b, "Enter");
    press(b, "z");
    CHECK_HAS(row(b, g, 1), "zx = 1");
    bench_key(b, 'z' | esc); // Alt-Z undoes, and stays in the cell
    CHECK_HAS(row(b, g, 1), " x = 1");
    CHECK_HAS(row(b, g, 7), "EDIT");
    bench_key(b, 'q' | KEY_ALT); // a terminal that says it is Alt means no Esc
    CHECK_HAS(row(b, g, 7), "EDIT");
    grid_free(g);
    bench_free(b);
}

static void point(bench *b, enum mouse_kind kind, int x, int y)
{
    bench_mouse(b, &(struct mouse){kind, x, y});
}

TEST(the_mouse_selects_enters_and_scrolls)
{
    bench *b = open_bench();
    grid *g = grid_new(60, 6);
    CHECK_HAS(row(b, g, 4), "y = 2");
    point(b, MOUSE_CLICK, 10, 4);
    CHECK_HAS(row(b, g, 4), "▌");
    CHECK_HAS(row(b, g, 5), "COMMAND");
    point(b, MOUSE_DOUBLE, 5, 4);
    CHECK_HAS(row(b, g, 5), "EDIT");
    press(b, "z"); // where it was pointed at
    CHECK_HAS(row(b, g, 4), "y =z 2");
    point(b, MOUSE_CLICK, 50, 4);
    press(b, "!");
    CHECK_HAS(row(b, g, 4), "y =z 2!");
    point(b, MOUSE_CLICK, 5, 1); // another cell
    CHECK_HAS(row(b, g, 5), "COMMAND");
    CHECK_HAS(row(b, g, 1), "▌");
    point(b, MOUSE_DOWN, 5, 1);
    CHECK_HAS(row(b, g, 0), "Second");
    point(b, MOUSE_UP, 5, 1);
    CHECK_HAS(row(b, g, 0), "First");
    point(b, MOUSE_CLICK, 5, 5); // the last row is nobody's
    CHECK_HAS(row(b, g, 1), "▌");
    grid_free(g);
    bench_free(b);
}

TEST(what_was_searched_for_comes_into_sight)
{
    static const struct bench_ops none = {0};
    AUTO_BUF cells = {0};
    err e = {0};
    bench *b = bench_new(&(struct bench_about){0}, &none, NULL);
    grid *g = grid_new(60, 8);
    for (int i = 0; i < 90; i++)
        buf_fmt(&cells, "%sx%02d = 1\n", i % 30 ? "" : "-- %% Cell\n", i);
    CHECK_OK(bench_show(b, "long.lua", cells.data, cells.len, &e) == 0, e);
    for (const char *c = "/x54"; *c; c++)
        press(b, (const char[]){*c, '\0'});
    press(b, "Enter");
    int y = 0;
    while (y < 7 && !strstr(row(b, g, y), "x54 = 1"))
        y++;
    CHECK(y < 7);
    grid_free(g);
    bench_free(b);
}

TEST(the_mouse_chooses_in_the_palette)
{
    bench *b = open_bench();
    grid *g = grid_new(60, 20);
    press(b, ":");
    press(b, "h");
    press(b, "e");
    press(b, "l");
    press(b, "p");
    int y = 0;
    while (y < 18 && !strstr(row(b, g, y), "keys that work here"))
        y++;
    point(b, MOUSE_DOUBLE, 4, y);
    CHECK_HAS(row(b, g, 0), "Keys:");
    grid_free(g);
    bench_free(b);
}

TEST(a_title_tells_the_notebook_and_its_cell)
{
    bench *b = open_bench();
    AUTO_BUF out = {0};
    bench_title(b, &out);
    CHECK_STR(buf_cstr(&out), "two.lua");
    bench_lost(b, "killed");
    buf_clear(&out);
    bench_title(b, &out);
    CHECK_STR(buf_cstr(&out), "two.lua: the kernel has ended");
    bench_free(b);
}

static char *copied;
static int copy(void *arg, const char *words, size_t n, err *e)
{
    free(copied);
    copied = mem_strndup(words, n);
    return 0;
}

TEST(a_cell_goes_to_the_terminals_clipboard)
{
    static const struct bench_ops ops = {.copy = copy};
    static const char cells[] = "-- %% First\nx = 1\n-- %% Second\ny = 2\n";
    err e = {0};
    bench *b = bench_new(&(struct bench_about){0}, &ops, NULL);
    grid *g = grid_new(80, 8);
    CHECK_OK(bench_show(b, "two.lua", cells, strlen(cells), &e) == 0, e);
    press(b, "Y");
    CHECK_STR(copied, "x = 1\n");
    CHECK_HAS(row(b, g, 7), "6 bytes");
    press(b, "J");
    press(b, "Y");
    CHECK_STR(copied, "x = 1\ny = 2\n");
    press(b, "g");
    press(b, "y");
    CHECK_STR(copied, "x = 1\ny = 2\n"); // no output yet
    CHECK_HAS(row(b, g, 7), "nothing to copy");
    free(STEAL(copied));
    grid_free(g);
    bench_free(b);
}

TEST(the_page_has_it_as_it_is)
{
    AUTO_BUF page = {0}, source = {0};
    err e = {0};
    CHECK_OK(path_read(tap_source("doc/terminal.md"), &page, 0, &e) == 0, e);
    CHECK_OK(path_read(tap_source("tests/unit/tui/smallest_view.c"), &source, 0, &e) == 0, e);
    const char *code = strchr(buf_cstr(&source), '\n') + 1; // without the licence
    CHECK(strstr(buf_cstr(&page), code));
}

// A view above the notebook: notes what it saw when it was settled, and what was drawn by then.
struct over_view {
    view head;
    bool settled, caret;
};

static void over_settle(view *v, rect area)
{
    int x, y;
    ((struct over_view *)v)->settled = true;
    ((struct over_view *)v)->caret = bench_caret(v->bench, &x, &y);
}

static void over_draw(const view *v, grid *g, rect area)
{
    const struct over_view *over = (const struct over_view *)v;
    grid_print(g, area, area.x, area.y + 5, (style){0}, "%s %s", over->settled ? "settled" : "",
        over->caret ? "below the cursor" : "");
}

static bool over_act(view *v, enum action a)
{
    return false;
}

static bool over_type(view *v, key k)
{
    view_pop_key(v, k);
    return true;
}

static const struct keymap no_keys = {0};
static const struct view_ops over_ops = {.name = "over",
    .keys = &no_keys,
    .overlay = true,
    .settle = over_settle,
    .draw = over_draw,
    .act = over_act,
    .type = over_type};

TEST(one_over_another_is_settled_when_that_is_drawn)
{
    bench *b = open_bench();
    grid *g = grid_new(60, 8);
    press(b, "Enter"); // into the cell: it has a cursor
    view_push(b, &over_ops, sizeof(struct over_view));
    CHECK_HAS(row(b, g, 5), "settled below the cursor");
    CHECK_HAS(row(b, g, 0), "First");
    press(b, "z"); // goes on to the cell
    CHECK(bench_top(b)->ops == &notebook_view_ops);
    CHECK_HAS(row(b, g, 1), "zx = 1");
    grid_free(g);
    bench_free(b);
}

int main(void)
{
    return tap_run();
}
