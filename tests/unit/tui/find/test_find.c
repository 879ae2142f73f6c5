// SPDX-License-Identifier: MIT
// Finding one's way in a notebook: search, replacement, outline, sections, jumps, letters, and what
// differs from git's HEAD.
#include "base/mem.h"
#include "base/str.h"
#include "tests/support/tap.h"
#include "tests/unit/tui/played.h"
#include "tui/bench/views.h"

#include <string.h>

static const char words[] = "-- %% [markdown] id=\"t\"\n-- # Study\n\n"
                            "-- %% [markdown] id=\"d\"\n-- ## Data\n-- Words.\n\n"
                            "-- %% Load id=\"l\"\nalpha = 1\nalpha = alpha + alpha\n\n"
                            "-- %% Clean id=\"c\"\nbeta = 2\n\n"
                            "-- %% [markdown] id=\"m\"\n-- ## Model\n\n"
                            "-- %% Train id=\"r\"\ngamma = alpha\n\n"
                            "-- %% id=\"u\"\nprint(gamma)\n";

static bench *opened(void)
{
    bench *b = open_bench_of(&(struct bench_about){0}, words);
    row(b, 0); // it is on the screen
    return b;
}

static void ends(bench *b, const char *id, const char *state)
{
    AUTO_FREE char *event = str_fmt(
        "{\"type\": \"state\", \"cell\": \"%s\", \"state\": \"%s\", \"count\": 1}", id, state);
    tell(b, event);
}

static void prints(bench *b, const char *id, const char *said)
{
    AUTO_FREE char *event = str_fmt("{\"type\": \"stream\", \"cell\": \"%s\", \"name\": \"stdout\","
                                    " \"text\": \"%s\"}",
        id, said);
    tell(b, event);
}

// The selected cell is the one with this in its first row.
static bool selected(bench *b, const char *has)
{
    for (int y = 0; y < 24; y++) {
        const char *r = row(b, y);
        if (str_starts(r, "▌"))
            return strstr(r, has) != NULL;
    }
    return false;
}

static void search(bench *b, const char *what)
{
    press(b, "/");
    type(b, what);
}

TEST(it_is_searched_as_it_is_typed)
{
    bench *b = opened();
    search(b, "alph");
    CHECK_HAS(row(b, -2), "1 of 5");
    CHECK(selected(b, "Study")); // nobody has gone anywhere yet
    type(b, "x");
    CHECK_HAS(row(b, -2), "nowhere");
    press(b, "Esc");
    CHECK(selected(b, "Study"));
    press(b, "n");
    CHECK_HAS(row(b, -1), "nothing is searched for yet");
    search(b, "gam+a$");
    CHECK_HAS(row(b, -2), "nowhere");
    press(b, "C-u");
    type(b, "gam+a");
    CHECK_HAS(row(b, -2), "1 of 2");
    press(b, "Enter");
    CHECK(selected(b, "Train"));
    CHECK_HAS(row(b, -1), "1 of 2");
    press(b, "n");
    CHECK(selected(b, "[ ] ─"));
    press(b, "n");
    CHECK_HAS(row(b, -1), "1 of 2; the search went around to the start");
    press(b, "N");
    CHECK_HAS(row(b, -1), "2 of 2; the search went around to the end");
    bench_free(b);
}

TEST(titles_and_outputs_are_searched)
{
    bench *b = opened();
    ends(b, "c", "running");
    prints(b, "c", "one\\ntwo needles\\nthree\\n");
    ends(b, "c", "ok");
    search(b, "needle");
    press(b, "Enter");
    CHECK(selected(b, "Clean"));
    CHECK_HAS(row(b, -1), "1 of 1");
    press(b, "g g");
    search(b, "Train");
    press(b, "Enter");
    CHECK(selected(b, "Train"));
    press(b, "g g Enter"); // in a cell only what can be edited
    press(b, "C-f");
    type(b, "needle");
    CHECK_HAS(row(b, -2), "nowhere");
    press(b, "C-u");
    type(b, "beta");
    press(b, "Enter");
    CHECK_HAS(row(b, -1), "EDIT");
    CHECK(selected(b, "Clean"));
    bench_free(b);
}

static int edits(void)
{
    return asked("edit");
}

TEST(s_replaces_here_and_percent_s_everywhere)
{
    bench *b = opened();
    line(b, "s/alpha/x/g");
    CHECK_HAS(row(b, -1), "no selected cell has alpha");
    press(b, "j j");
    line(b, "s/(al)pha/\\1x/");
    CHECK_INT(edits(), 1);
    CHECK_STR(json_str(last_asked(), "source"), "alx = 1\nalx = alpha + alpha");
    CHECK(screen_has(b, "2 places in 1 cell replaced"));
    CHECK(screen_has(b, "2 more on these"));
    line(b, "%s/alpha/x/g");
    CHECK_INT(edits(), 3); // two cells more
    line(b, "%s/x/y/gn");
    CHECK_HAS(row(b, -1), "5 places in 2 cells");
    CHECK_INT(edits(), 3);
    line(b, "s/a/b/x");
    CHECK(screen_has(b, "x is no flag"));
    line(b, "s/alpha");
    CHECK(screen_has(b, "puts new in the place of old"));
    bench_free(b);
}

TEST(while_editing_s_takes_the_line)
{
    bench *b = opened();
    press(b, "j j Enter Down C-p");
    type(b, "s/alpha/x/g");
    press(b, "Enter");
    CHECK(screen_has(b, " alpha = 1"));
    CHECK(screen_has(b, " x = x + x"));
    CHECK_HAS(row(b, -1), "3 places in 1 cell replaced; C-_ brings");
    press(b, "C-_");
    CHECK(screen_has(b, " alpha = alpha + alpha"));
    CHECK_INT(edits(), 0);
    bench_free(b);
}

TEST(with_c_each_place_is_asked_about)
{
    bench *b = opened();
    line(b, "%s/alpha/x/gc");
    CHECK(on_top(b, &replace_view_ops));
    CHECK(screen_has(b, "Replace with “x”?"));
    CHECK(bench_marks(b));
    CHECK_HAS(row(b, -2), "1 of 5");
    press(b, "n y n"); // of the second line the first
    CHECK_INT(edits(), 0);
    press(b, "l");
    CHECK_INT(edits(), 1);
    CHECK_STR(json_str(last_asked(), "source"), "alpha = 1\nx = alpha + x");
    CHECK_HAS(row(b, -1), "2 places in 1 cell replaced");
    CHECK(!bench_marks(b));
    line(b, "%s/alpha/x/gc"); // three are left
    press(b, "n Esc");
    CHECK_INT(edits(), 1);
    CHECK_HAS(row(b, -1), "nothing was replaced");
    line(b, "%s/alpha/x/gc");
    press(b, "y q"); // what was agreed to stays
    CHECK_INT(edits(), 2);
    line(b, "%s/alpha/x/gc");
    press(b, "a");
    CHECK_INT(edits(), 4);
    bench_free(b);
}

TEST(what_changes_while_it_is_asked_about_stays)
{
    bench *b = opened();
    line(b, "%s/alpha/x/gc");
    tell(b, "{\"type\": \"edited\", \"rev\": 1, \"change\": \"edit\", \"cell\": \"l\","
            "\"source\": \"other = 1\", \"marker\": \"Load id=\\\"l\\\"\"}");
    press(b, "a");
    CHECK_INT(edits(), 1); // the other cell
    CHECK(screen_has(b, "1 cell changed meanwhile"));
    bench_free(b);
}

TEST(the_outline_has_headings_titles_and_states)
{
    bench *b = opened();
    ends(b, "c", "failed");
    press(b, "T");
    CHECK(on_top(b, &outline_view_ops));
    static const char *const rows[] = {
        "   Study", "     Data", "       Load", " ✗     Clean", "     Model", "       Train"};
    for (int i = 0; i < 6; i++)
        CHECK_STR(row(b, 2 + i), rows[i]);
    CHECK_STR(row(b, 8), ""); // a cell without a title, with which nothing is the matter
    type(b, "fail");
    CHECK_HAS(row(b, 0), "1 of 6");
    CHECK_STR(row(b, 2), " ✗     Clean");
    press(b, "Enter");
    CHECK(on_top(b, &notebook_view_ops));
    CHECK(selected(b, "Clean"));
    ends(b, "u", "failed");
    press(b, "T Down Down Down");
    CHECK(screen_has(b, "✗     print(gamma)"));
    press(b, "Esc");
    CHECK(on_top(b, &notebook_view_ops));
    CHECK(selected(b, "Clean"));
    bench_free(b);
}

static const char *wide_row(bench *b, int y)
{
    static buf said;
    grid *g = grid_new(120, 24);
    bench_redraw(b);
    bench_draw(b, g);
    buf_clear(&said);
    grid_row_text(g, y, &said);
    grid_free(g);
    return buf_cstr(&said);
}

TEST(on_wide_screens_the_outline_stands_beside_the_cells)
{
    bench *b = opened();
    wide_row(b, 0);
    press(b, "T Down Down Enter");
    CHECK(on_top(b, &notebook_view_ops));
    CHECK_HAS(wide_row(b, 0), "│ Outline");
    CHECK_HAS(wide_row(b, 4), "│▌      Load");
    CHECK(!screen_has(b, "Outline")); // there is no room
    press(b, "T Esc");
    CHECK(!strstr(wide_row(b, 0), "Outline"));
    bench_free(b);
}

TEST(a_folded_section_hides_its_cells)
{
    bench *b = opened();
    press(b, "j j H");
    CHECK(selected(b, "Data"));
    CHECK(screen_has(b, "⋯ 2 cells"));
    CHECK(!screen_has(b, "Load"));
    press(b, "j");
    CHECK(selected(b, "Model"));
    press(b, "k");
    CHECK(selected(b, "Data"));
    ends(b, "c", "failed");
    CHECK(screen_has(b, "⋯ 2 cells, 1 failed"));
    press(b, "C-e"); // all of it
    CHECK_INT(cJSON_GetArraySize(json_get(last_asked(), "cells")), 2);
    search(b, "beta"); // what is hidden is found, and hidden again where that is given up
    CHECK(screen_has(b, "beta"));
    press(b, "Esc");
    CHECK(!screen_has(b, "Load"));
    search(b, "beta");
    press(b, "Enter");
    CHECK(selected(b, "Clean"));
    CHECK(screen_has(b, "Load"));
    press(b, "g H");
    CHECK(screen_has(b, "⋯ 2 cells"));
    CHECK(!screen_has(b, "Load") && !screen_has(b, "Train"));
    press(b, "g H");
    CHECK(screen_has(b, "Load") && screen_has(b, "Train"));
    bench_free(b);
}

TEST(a_folded_section_is_cut_and_runs_as_one)
{
    bench *b = opened();
    press(b, "j H x");
    CHECK_INT(asked("delete"), 3);
    bench_free(b);
    b = opened();
    press(b, "j j j g c");
    CHECK_INT(cJSON_GetArraySize(json_get(last_asked(), "cells")), 2);
    press(b, "g g g c");
    CHECK_INT(cJSON_GetArraySize(json_get(last_asked(), "cells")), 4);
    bench_free(b);
}

TEST(jumps_lead_back_and_forward)
{
    bench *b = opened();
    press(b, "G");
    row(b, 0);
    press(b, "g g j");
    row(b, 0);
    press(b, "C-o");
    CHECK(selected(b, "[ ] ─"));
    press(b, "C-o");
    CHECK(selected(b, "Study"));
    press(b, "C-o");
    CHECK_HAS(row(b, -1), "there is no cell to go back to");
    press(b, "Tab Tab");
    CHECK(selected(b, "Data"));
    press(b, "Tab");
    CHECK_HAS(row(b, -1), "there is no cell to go forward to");
    bench_free(b);
}

TEST(a_letter_leads_back_to_its_cell)
{
    bench *b = opened();
    press(b, "j j g m a");
    CHECK_HAS(row(b, -1), "“Load” is a now");
    CHECK(screen_has(b, "'a"));
    press(b, "G ' ");
    CHECK(screen_has(b, "a  Load"));
    press(b, "a");
    CHECK(selected(b, "Load"));
    press(b, "' '"); // back
    CHECK(selected(b, "[ ] ─"));
    press(b, "g m a ' b");
    CHECK_HAS(row(b, -1), "no cell has the letter b");
    press(b, "' Esc");
    CHECK(on_top(b, &notebook_view_ops));
    bench_free(b);
}

TEST(cells_that_differ_from_head_are_marked)
{
    bench *b = opened();
    AUTO_BUF was = {0};
    buf_str(&was, words);
    char *load = strstr(was.data, "alpha = 1"), *train = strstr(was.data, "-- %% Train");
    load[8] = '7';
    memmove(train, strstr(train, "-- %% id="), strlen(strstr(train, "-- %% id=")) + 1);
    CHECK(!screen_has(b, "≠"));
    bench_headed(b, "/elsewhere.lua", buf_cstr(&was), strlen(was.data));
    CHECK(!screen_has(b, "≠"));
    bench_headed(b, "/nowhere/n.lua", buf_cstr(&was), strlen(was.data));
    press(b, "g d");
    CHECK(selected(b, "Load"));
    CHECK(selected(b, "≠"));
    press(b, "g d");
    CHECK(selected(b, "Train"));
    CHECK(selected(b, "+"));
    press(b, "T");
    type(b, "changed");
    CHECK_HAS(row(b, 0), "2 of 6");
    press(b, "Esc Esc");
    bench_headed(b, "/nowhere/n.lua", NULL, 0);
    press(b, "g d");
    CHECK_HAS(row(b, -1), "no cell differs from git's HEAD");
    bench_free(b);
}

TEST(with_vi_a_cell_has_vis_keys)
{
    struct settings *s = settings_new("vi: true\n", 9);
    bench *b = open_bench_of(&(struct bench_about){.settings = s}, words);
    press(b, "j j Enter");
    CHECK_HAS(row(b, -1), "NORMAL");
    type(b, "cwomega");
    CHECK_HAS(row(b, -1), "EDIT");
    CHECK(screen_has(b, " omega = 1"));
    press(b, "Esc");
    CHECK_HAS(row(b, -1), "NORMAL");
    type(b, "jdd");
    CHECK(!screen_has(b, "alpha + alpha"));
    type(b, "uv");
    CHECK(screen_has(b, "alpha + alpha"));
    CHECK_HAS(row(b, -1), "VISUAL");
    press(b, "Esc C-r"); // redo, as in vi
    CHECK(!screen_has(b, "alpha + alpha"));
    type(b, "/gamma");
    CHECK_HAS(row(b, -2), "1 of 2");
    press(b, "Enter");
    CHECK(selected(b, "Train"));
    CHECK_HAS(row(b, -1), "NORMAL");
    press(b, "Esc");
    CHECK_HAS(row(b, -1), "COMMAND");
    bench_free(b);
    settings_free(s);
}

int main(void)
{
    return tap_run();
}
