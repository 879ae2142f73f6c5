// SPDX-License-Identifier: MIT
// What hands do by habit loses nothing: names after ':', questions before something is lost, keys
// and pastes that mean something elsewhere. A kernel is played here: what it was asked is noted.
#include "base/mem.h"
#include "base/str.h"
#include "tests/support/tap.h"
#include "tests/unit/tui/played.h"
#include "tui/bench/command.h"
#include "tui/bench/views.h"

#include <string.h>
#include <unistd.h>

TEST(a_kernel_is_played)
{
    bench *b = open_bench();
    CHECK_HAS(row(b, -1), "idle");
    press(b, "C-e");
    CHECK_INT(asked("execute"), 1);
    bench_free(b);
}

static bool is_name(const char *words)
{
    enum action a = 1;
    while (a < ACTION_COUNT && !str_eq(action_name(a), words))
        a++;
    return a < ACTION_COUNT || command_help(words);
}

// Every piece of every name that ends something, and what is near.
TEST(no_piece_of_a_name_ends_anything)
{
    bench *b = open_bench();
    for (enum action a = 1; a < ACTION_COUNT; a++) {
        const char *name = action_name(a);
        for (size_t from = 0; action_ends(a) && name[from]; from++)
            for (size_t n = 1; from + n <= strlen(name) && n < strlen(name); n++) {
                AUTO_FREE char *piece = mem_strndup(name + from, n);
                if (is_name(piece)) // "restart" of "restart-object"; vi's "e", "s"
                    continue;
                line(b, piece);
                while (bench_top(b)->below)
                    press(b, "Esc");
            }
    }
    static const char *const near[] = {"top", "all", "del", "delete", "de", "clear", "cl", "kill",
        "sp", "stopp", "Stop", "rerun", "rst", "restrat", "exit", "", " ", "run-", "all-", "-all"};
    for (size_t i = 0; i < ARRAY_LEN(near); i++) {
        line(b, near[i]);
        while (bench_top(b)->below)
            press(b, "Esc");
    }
    CHECK_INT(played.quits, 0);
    CHECK_INT(played.suspends, 0);
    static const char *const changes[] = {
        "restart", "interrupt", "delete", "clear", "edit", "insert", "reload", "save", "shutdown"};
    for (size_t i = 0; i < ARRAY_LEN(changes); i++)
        if (asked(changes[i]))
            tap_fail(__FILE__, __LINE__, "the kernel was asked to %s", changes[i]);
    bench_free(b);
}

TEST(whole_names_and_clear_beginnings_act)
{
    bench *b = open_bench();
    line(b, "interrupt");
    CHECK_INT(asked("interrupt"), 1);
    line(b, "insert-b");
    CHECK_INT(asked("insert"), 1);
    line(b, " suspend ");
    CHECK_INT(played.suspends, 1);
    line(b, "pods");    // a kind of the cluster
    line(b, "deploym"); // begins only one
    CHECK_STR(json_path_str(last_asked(), "with.kind"), "deployments");
    CHECK_INT(asked("act"), 2);
    line(b, "nothinglikeit"); // perhaps a kind: the cluster knows
    CHECK_INT(asked("act"), 3);
    line(b, "stop"); // there are unsaved changes
    CHECK_INT(played.stops, 0);
    line(b, "stop!");
    CHECK_INT(played.stops, 1);
    bench_free(b);
}

TEST(what_is_alike_has_to_be_chosen)
{
    bench *b = open_bench();
    line(b, "top");
    CHECK(on_top(b, &prompt_view_ops));
    CHECK_HAS(row(b, -1), "Tab chooses");
    CHECK_INT(played.quits, 0);
    press(b, "Down");
    CHECK_HAS(row(b, -1), "Enter does it");
    press(b, "Esc");
    line(b, "suspen");
    CHECK_HAS(row(b, -1), "wants its whole name");
    press(b, "Tab Enter");
    CHECK_INT(played.suspends, 1);
    line(b, "insert-");
    CHECK_HAS(row(b, -1), "2 names begin so");
    press(b, "Esc");
    press(b, ": Enter"); // nothing is typed: nothing is done
    CHECK(on_top(b, &notebook_view_ops));
    CHECK_INT(asked("execute"), 0);
    bench_free(b);
}

static void runs(bench *b, const char *id)
{
    AUTO_FREE char *event =
        str_fmt("{\"type\": \"state\", \"cell\": \"%s\", \"state\": \"running\","
                "\"count\": 2}",
            id);
    tell(b, event);
}

static void ends(bench *b, const char *id)
{
    AUTO_FREE char *event =
        str_fmt("{\"type\": \"state\", \"cell\": \"%s\", \"state\": \"ok\"}", id);
    tell(b, event);
}

static void ran(bench *b, const char *id)
{
    runs(b, id);
    ends(b, id);
}

static void shows_live(bench *b, const char *id)
{
    AUTO_FREE char *event =
        str_fmt("{\"type\": \"display\", \"cell\": \"%s\", \"id\": 1, \"live\": true,"
                "\"data\": {\"text/plain\": \"pods\"}}",
            id);
    tell(b, event);
}

// A question takes no key in its first half second.
static void agree(bench *b, const char *with)
{
    press(b, with);
    CHECK(on_top(b, &confirm_view_ops));
    row(b, 0); // it is drawn
    usleep(600000);
    press(b, with);
}

TEST(nothing_is_asked_where_nothing_is_lost)
{
    static const char *const keys[] = {"0 0", "R", "d d", "x", "D", ": c l e a r - a l l Enter"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        bench *b = open_bench();
        press(b, keys[i]);
        CHECK(on_top(b, &notebook_view_ops));
        CHECK(asked("restart") + asked("execute") + asked("delete") + asked("clear") == 1);
        bench_free(b);
    }
}

TEST(what_has_run_is_asked_about)
{
    bench *b = open_bench();
    ran(b, "a");
    press(b, "0 0");
    CHECK(screen_has(b, "Restart the kernel?"));
    CHECK(screen_has(b, "the values of 1 cell that ran"));
    press(b, "Enter 1 0 0 Esc"); // nothing but y does it
    CHECK(on_top(b, &notebook_view_ops));
    CHECK_INT(asked("restart"), 0);
    press(b, "0 0");
    agree(b, "y");
    CHECK_INT(asked("restart"), 1);
    press(b, "R");
    CHECK(screen_has(b, "1 cell ran already"));
    press(b, "n");
    CHECK_INT(asked("execute"), 0);
    line(b, "run-all");
    agree(b, "y");
    CHECK_INT(asked("execute"), 1);
    line(b, "stop");
    CHECK(screen_has(b, "Stop the kernel?"));
    agree(b, "y");
    CHECK_INT(played.stops, 1);
    press(b, "d d"); // its text comes back by z
    CHECK_INT(asked("delete"), 1);
    bench_free(b);
}

TEST(what_runs_or_is_live_is_asked_about)
{
    static const struct {
        const char *keys, *message;
    } deeds[] = {{"d d", "delete"}, {"x", "delete"}, {"k M", "delete"}, {"D", "clear"},
        {": c l e a r - a l l Enter", "clear"}, {"0 0", "restart"}, {"R", "execute"}};
    for (int live = 0; live < 2; live++)
        for (size_t i = 0; i < ARRAY_LEN(deeds); i++) {
            bench *b = open_bench();
            runs(b, "b");
            if (live) {
                shows_live(b, "b");
                ends(b, "b");
            }
            press(b, "j");
            press(b, deeds[i].keys);
            if (!on_top(b, &confirm_view_ops))
                tap_fail(__FILE__, __LINE__, "%s is not asked, live %d", deeds[i].keys, live);
            CHECK(screen_has(b, live ? "1 output is still live" : "[2] Two runs"));
            CHECK_INT(asked(deeds[i].message), 0);
            press(b, "Esc");
            CHECK_INT(asked(deeds[i].message), 0);
            press(b, deeds[i].keys);
            agree(b, "y");
            CHECK_INT(asked(deeds[i].message), 1);
            bench_free(b);
        }
}

TEST(another_cell_is_not_agreed_to)
{
    bench *b = open_bench();
    runs(b, "b");
    press(b, "d d"); // the first one
    CHECK_INT(asked("delete"), 1);
    CHECK_STR(json_str(last_asked(), "cell"), "a");
    bench_free(b);
}

TEST(undo_of_an_insertion_asks_when_the_cell_runs)
{
    bench *b = open_bench();
    press(b, "b");
    AUTO_FREE char *id = mem_strdup(json_str(last_asked(), "as"));
    AUTO_FREE char *made =
        str_fmt("{\"type\": \"edited\", \"rev\": 1, \"change\": \"insert\","
                "\"cell\": \"%s\", \"after\": \"a\", \"source\": \"\", \"marker\": \"\"}",
            id);
    tell(b, made);
    runs(b, id);
    press(b, "z");
    CHECK(screen_has(b, "Undo, and delete the cell?"));
    CHECK_INT(asked("delete"), 0);
    agree(b, "y");
    CHECK_INT(asked("delete"), 1);
    bench_free(b);
}

TEST(one_setting_asks_nothing)
{
    bench *b = open_bench_with(&(struct bench_about){.no_ask = true});
    ran(b, "a");
    runs(b, "b");
    press(b, "j d d");
    CHECK_INT(asked("delete"), 1);
    press(b, "0 0");
    CHECK_INT(asked("restart"), 1);
    line(b, "stop!");
    CHECK_INT(played.stops, 1);
    bench_free(b);
}

// The kernel has inserted the cell that was asked for last.
static void inserts(bench *b, const char *after)
{
    const cJSON *m = last_asked();
    AUTO_FREE char *made =
        str_fmt("{\"type\": \"edited\", \"rev\": %lld, \"change\": \"insert\", \"cell\": \"%s\","
                "\"after\": \"%s\", \"source\": \"\", \"marker\": \"\"}",
            (long long)++played.rev, json_str(m, "as"), after);
    tell(b, made);
}

// JupyterLab is for typing in the cell that it makes after a run.
TEST(a_cell_that_a_run_makes_is_edited)
{
    static const struct {
        const char *keys, *after;
    } ways[] = {{"M-Enter", "a"}, {"Enter M-Enter", "a"}, {"j C-r", "b"}, {"j Enter S-Enter", "b"}};
    for (size_t i = 0; i < ARRAY_LEN(ways); i++)
        for (int soon = 0; soon < 2; soon++) {
            bench *b = open_bench();
            press(b, ways[i].keys);
            if (soon) // before the kernel has made the cell, and is slow to do so
                type(b, "x = 1000");
            CHECK_INT(asked("insert"), 1);
            inserts(b, ways[i].after);
            row(b, 0);
            if (!soon)
                type(b, "x = 1000");
            CHECK_HAS(row(b, -1), "EDIT");
            CHECK_INT(asked("delete") + asked("restart") + asked("move"), 0);
            CHECK(soon || screen_has(b, "▌ x = 1000"));
            press(b, "Esc");
            CHECK_HAS(row(b, -1), "COMMAND");
            bench_free(b);
        }
}

// Who runs a cell with Alt-Enter is asked, too, but not under typing hands; then typing goes on.
TEST(a_question_comes_up_over_a_new_cell_in_which_nothing_is_typed)
{
    static const char asks[] =
        "{\"type\": \"ask\", \"ask\": 1, \"cell\": \"a\", \"question\": \"May it?\","
        "\"choices\": [\"yes\", \"no\"]}";
    for (int typing = 0; typing < 2; typing++) {
        bench *b = open_bench();
        press(b, "M-Enter");
        inserts(b, "a");
        row(b, 0);
        if (typing)
            type(b, "x");
        tell(b, asks);
        usleep(450000);
        bench_tick(b);
        row(b, 0);
        CHECK(on_top(b, &ask_view_ops) == !typing);
        if (!typing) {
            usleep(600000);
            press(b, "y");
            CHECK_INT(asked("answer"), 1);
            tell(b, "{\"type\": \"answered\", \"ask\": 1}");
        }
        row(b, 0);
        type(b, "more");
        CHECK(screen_has(b, typing ? "▌ xmore" : "▌ more"));
        bench_free(b);
    }
}

TEST(c_c_copies_or_asks_twice)
{
    bench *b = open_bench();
    runs(b, "b");
    press(b, "Enter S-End C-c");
    CHECK_INT(asked("interrupt"), 0);
    CHECK_HAS(row(b, -1), "copied");
    press(b, "End C-v");
    CHECK(screen_has(b, "x = 1x = 1"));
    press(b, "C-c");
    CHECK_INT(asked("interrupt"), 0);
    CHECK_HAS(row(b, -1), "Two runs: C-c again");
    press(b, "C-c");
    CHECK_INT(asked("interrupt"), 1);
    press(b, "C-c");
    usleep(2100000); // too late
    press(b, "C-c");
    CHECK_INT(asked("interrupt"), 1);
    press(b, "Esc C-c"); // among cells
    CHECK_INT(asked("interrupt"), 2);
    press(b, "j Enter C-c"); // the cell itself
    CHECK_INT(asked("interrupt"), 3);
    bench_free(b);
}

static void paste(bench *b, const char *words)
{
    bench_paste(b, words, strlen(words));
}

TEST(a_paste_among_cells_makes_cells)
{
    bench *b = open_bench();
    paste(b, "dd = 1\nxx = 2\n");
    CHECK_INT(asked("insert"), 1);
    CHECK_STR(json_str(last_asked(), "after"), "a");
    CHECK_STR(json_str(last_asked(), "source"), "dd = 1\nxx = 2");
    CHECK_HAS(row(b, -1), "pasted as 1 cell below");
    paste(b, "-- %% One more\nz = 1\n\n-- %% [markdown]\n-- # Text\n");
    CHECK_INT(asked("insert"), 3);
    CHECK_STR(json_str(last_asked(), "marker"), "[markdown]");
    CHECK_HAS(row(b, -1), "pasted as 2 cells below");
    paste(b, " \n\n");
    CHECK_INT(asked("insert"), 3);
    CHECK_HAS(row(b, -1), "only blanks");
    press(b, "?");
    paste(b, "dd");
    CHECK_HAS(row(b, -1), "a paste does nothing here");
    CHECK_INT(asked("insert") + asked("delete"), 3);
    press(b, "q Enter");
    paste(b, "inside");
    CHECK_INT(asked("insert"), 3);
    CHECK(screen_has(b, "insidex = 1"));
    bench_free(b);
}

TEST(keys_without_a_meaning_say_so)
{
    static const struct {
        const char *keys, *says;
    } ways[] = {{"u", "u means nothing here; z: undo a change of cells"},
        {"f", "f means nothing here; /: search"}, {"@", "@ means nothing here; ? shows the keys"},
        {"F9", "F9 means nothing here; ? shows"}, {"g w", "g w means nothing here"},
        {"0 @", "0 @ means nothing here"},
        {"Enter C-g", "C-g means nothing here; Esc: leave the cell"},
        {"Enter F9", "F9 means nothing here; F1 shows"},
        {"? u", "u means nothing here; b: a screen up"}, {"? x", "x means nothing here"},
        {": F9", "F9 means nothing here; Tab chooses"}};
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        bench *b = open_bench();
        press(b, ways[i].keys);
        CHECK_HAS(row(b, -1), ways[i].says);
        press(b, "Down");
        CHECK(!strstr(row(b, -1), "means nothing"));
        bench_free(b);
    }
}

TEST(a_choice_takes_a_letter_only_when_it_alone_is_typed)
{
    bench *b = open_bench();
    press(b, "p Down"); // to the kind
    type(b, "b");
    CHECK(screen_has(b, "< bash >"));
    type(b, "ash");
    CHECK(screen_has(b, "< Lua >"));
    CHECK(screen_has(b, "this is a choice: Left, Right or Space"));
    type(b, "tttt  t");
    CHECK(screen_has(b, "< Lua >"));
    press(b, "Down"); // past the file, which a Lua cell has none
    type(b, "trainer file.lua");
    CHECK(screen_has(b, "< pure >") || screen_has(b, "< (asks) >"));
    paste(b, "local");
    press(b, "Up Down");
    type(b, "l");
    CHECK(!screen_has(b, "< local >"));
    press(b, "Up Down Right");
    press(b, "Enter");
    CHECK_INT(asked("edit"), 1);
    bench_free(b);
}

int main(void)
{
    return tap_run();
}
