// SPDX-License-Identifier: MIT
// Editing by actions, as a person does.
#include "base/mem.h"
#include "tests/support/tap.h"
#include "tui/edit/edit.h"
#include "tui/edit/keymap.h"

static buf clipboard;

static const char *all(edit *e)
{
    static buf out;
    buf_clear(&out);
    text_all(edit_text(e), &out);
    return buf_cstr(&out);
}

static edit *with(const char *s)
{
    edit *e = edit_new(s, strlen(s));
    edit_set_cursor(e, text_end(edit_text(e)));
    return e;
}

static void type(edit *e, const char *s)
{
    for (; *s; s++)
        if (*s == '\n')
            edit_act(e, ACT_INSERT_NEWLINE, &clipboard);
        else
            edit_type(e, s, 1);
}

static bool act(edit *e, enum action a)
{
    return edit_act(e, a, &clipboard);
}

TEST(typing_is_undone_by_words)
{
    edit *e = with("");
    type(e, "local x");
    CHECK(act(e, ACT_UNDO));
    CHECK_STR(all(e), "local ");
    CHECK(act(e, ACT_UNDO));
    CHECK_STR(all(e), "");
    CHECK(!act(e, ACT_UNDO));
    CHECK(act(e, ACT_REDO) && act(e, ACT_REDO));
    CHECK_STR(all(e), "local x");
    CHECK_INT(edit_cursor(e).byte, 7);
    CHECK(!act(e, ACT_REDO));
    type(e, "y");
    CHECK(!act(e, ACT_REDO)); // a new change forgets what was undone
    edit_free(e);
}

TEST(a_movement_ends_a_step_of_undo)
{
    edit *e = with("");
    type(e, "ab");
    act(e, ACT_LEFT);
    act(e, ACT_RIGHT);
    type(e, "cd");
    act(e, ACT_UNDO);
    CHECK_STR(all(e), "ab");
    edit_free(e);
}

TEST(deletions_join_and_come_back)
{
    edit *e = with("hello");
    act(e, ACT_DELETE_BACK);
    act(e, ACT_DELETE_BACK);
    act(e, ACT_DELETE_BACK);
    CHECK_STR(all(e), "he");
    act(e, ACT_UNDO);
    CHECK_STR(all(e), "hello");
    edit_set_cursor(e, (pos){0, 0});
    act(e, ACT_DELETE_FORWARD);
    act(e, ACT_DELETE_FORWARD);
    CHECK_STR(all(e), "llo");
    act(e, ACT_UNDO);
    CHECK_STR(all(e), "hello");
    edit_free(e);
}

static const struct edit_language lua = {"--", "function then do else { (", "end else }", 2};

TEST(a_line_that_only_closes_stands_below_what_opened)
{
    edit *e = with("");
    edit_set_language(e, &lua);
    type(e, "if x then\ny = {\n1,\n}\nelse\nz()\nend\nendless");
    CHECK_STR(all(e), "if x then\n  y = {\n    1,\n  }\nelse\n  z()\nend\nendless");
    edit_reset(e, "", 0);
    type(e, "for i = 1, 2 do\nend");
    CHECK_STR(all(e), "for i = 1, 2 do\nend");
    edit_reset(e, "", 0);
    type(e, "if x then\ny()\nz = e");
    CHECK_STR(all(e), "if x then\n  y()\n  z = e");
    edit_free(e);
}

TEST(new_lines_are_indented)
{
    edit *e = with("");
    edit_set_language(e, &lua);
    type(e, "function f(x)\nreturn x\nend");
    CHECK_STR(all(e), "function f(x)\n  return x\nend");
    edit_reset(e, "", 0);
    type(e, "if x then\ny = {\n1");
    CHECK_STR(all(e), "if x then\n  y = {\n    1");
    edit_reset(e, "", 0);
    type(e, "local authend\nx");
    CHECK_STR(all(e), "local authend\nx");
    edit_free(e);
}

TEST(backspace_takes_a_step_of_indentation)
{
    edit *e = with("        x");
    edit_set_cursor(e, (pos){0, 8});
    act(e, ACT_DELETE_BACK);
    CHECK_STR(all(e), "    x");
    act(e, ACT_RIGHT);
    act(e, ACT_DELETE_BACK);
    CHECK_STR(all(e), "    ");
    edit_free(e);
}

TEST(typing_replaces_a_selection)
{
    edit *e = with("one two");
    act(e, ACT_SELECT_WORD_LEFT);
    pos from, to;
    CHECK(edit_selection(e, &from, &to));
    CHECK_INT(from.byte, 4);
    type(e, "x");
    CHECK_STR(all(e), "one x");
    act(e, ACT_UNDO);
    CHECK_STR(all(e), "one two");
    act(e, ACT_SELECT_ALL);
    act(e, ACT_LEFT); // to the selection's own end
    CHECK_INT(edit_cursor(e).byte, 0);
    CHECK(!edit_selection(e, &from, &to));
    edit_free(e);
}

TEST(a_mark_selects_as_the_cursor_moves)
{
    edit *e = with("one two");
    act(e, ACT_MARK);
    act(e, ACT_WORD_LEFT);
    CHECK(act(e, ACT_COPY_TEXT));
    CHECK_STR(buf_cstr(&clipboard), "two");
    edit_free(e);
}

TEST(kill_and_yank)
{
    edit *e = with("first\nsecond");
    edit_set_cursor(e, (pos){0, 2});
    act(e, ACT_KILL_LINE);
    CHECK_STR(all(e), "fi\nsecond");
    act(e, ACT_KILL_LINE); // at its end: the newline
    CHECK_STR(all(e), "fisecond");
    act(e, ACT_UNDO);
    act(e, ACT_UNDO);
    edit_set_cursor(e, (pos){1, 3});
    act(e, ACT_KILL_LINE_BACK);
    CHECK_STR(all(e), "first\nond");
    act(e, ACT_YANK);
    act(e, ACT_YANK);
    CHECK_STR(all(e), "first\nsecsecond");
    edit_free(e);
}

TEST(pastes_are_cleaned_and_one_step)
{
    edit *e = with("");
    edit_paste(e, "a\r\nb\rc\x1b[31m\td\xff", 14);
    CHECK_STR(all(e), "a\nb\nc[31m\td\xef\xbf\xbd");
    act(e, ACT_UNDO);
    CHECK_STR(all(e), "");
    edit_free(e);
}

TEST(lines_are_indented_and_commented_together)
{
    edit *e = with("a\n\n  b");
    act(e, ACT_SELECT_ALL);
    edit_set_language(e, &(struct edit_language){"#", ": |", "", 2});
    edit_indent(e);
    CHECK_STR(all(e), "  a\n\n    b");
    edit_unindent(e);
    edit_unindent(e);
    CHECK_STR(all(e), "a\n\nb");
    act(e, ACT_UNDO);
    CHECK_STR(all(e), "a\n\n  b");
    act(e, ACT_SELECT_ALL);
    edit_toggle_comment(e);
    CHECK_STR(all(e), "# a\n\n#   b");
    edit_toggle_comment(e);
    CHECK_STR(all(e), "a\n\n  b");
    edit_free(e);
}

TEST(tab_indents_and_only_an_action_of_its_own_takes_that_back)
{
    edit *e = with("x");
    edit_set_language(e, &(struct edit_language){.indent = 4});
    edit_set_cursor(e, (pos){0});
    CHECK(act(e, ACT_INSERT_TAB));
    CHECK_STR(all(e), "    x");
    CHECK(!act(e, ACT_INSPECT)); // needs Lua: a text alone knows no names
    CHECK_STR(all(e), "    x");
    CHECK(act(e, ACT_UNINDENT));
    CHECK_STR(all(e), "x");
    edit_free(e);
}

TEST(what_has_no_effect_says_so)
{
    edit *e = with("one");
    CHECK(!act(e, ACT_DOWN) || edit_cursor(e).line == 0);
    CHECK(!act(e, ACT_RIGHT));
    CHECK(!act(e, ACT_DELETE_FORWARD));
    CHECK(!act(e, ACT_UNDO));
    CHECK(!act(e, ACT_CUT_TEXT));
    CHECK(!act(e, ACT_RUN)); // not an action of editing
    edit_free(e);
}

#define FAMILY "\U0001F468\u200D\U0001F469\u200D\U0001F467"
#define FLAG   "\U0001F1E9\U0001F1EA"
#define HANGUL "\u1100\u1161\u11A8"
#define KI     "\u0915\u093F"

TEST(a_cluster_is_walked_over_and_deleted_as_one)
{
    static const char *const clusters[] = {
        FAMILY, FLAG, "e\u0301", HANGUL, KI, "\U0001F44D\U0001F3FD"};
    for (size_t i = 0; i < ARRAY_LEN(clusters); i++) {
        size_t n = strlen(clusters[i]);
        AUTO_BUF words = {0};
        buf_fmt(&words, "a%sb", clusters[i]);
        edit *e = with(buf_cstr(&words));
        act(e, ACT_LEFT);
        CHECK_INT(edit_cursor(e).byte, 1 + n);
        act(e, ACT_LEFT);
        CHECK_INT(edit_cursor(e).byte, 1);
        act(e, ACT_SELECT_RIGHT);
        pos from, to;
        CHECK(edit_selection(e, &from, &to) && from.byte == 1 && to.byte == 1 + n);
        edit_set_cursor(e, (pos){0, n}); // inside, as a click or another's change may want it
        CHECK_INT(edit_cursor(e).byte, 1);
        act(e, ACT_DELETE_FORWARD);
        CHECK_STR(all(e), "ab");
        act(e, ACT_UNDO);
        edit_set_cursor(e, (pos){0, 1 + n});
        act(e, ACT_DELETE_BACK);
        CHECK_STR(all(e), "ab");
        edit_free(e);
    }
}

TEST(of_three_indicators_two_are_a_flag)
{
    edit *e = with(FLAG "\U0001F1EB");
    act(e, ACT_DELETE_BACK);
    CHECK_STR(all(e), FLAG);
    act(e, ACT_DELETE_BACK);
    CHECK_STR(all(e), "");
    edit_free(e);
}

// What is found may be a part of a cluster; what is selected is all of it.
TEST(a_selection_has_whole_clusters)
{
    edit *e = with("xe\u0301y");
    pos from, to;
    edit_select(e, (pos){0, 1}, (pos){0, 2});
    CHECK(edit_selection(e, &from, &to) && from.byte == 1 && to.byte == 4);
    edit_select(e, (pos){0, 2}, (pos){0, 5});
    CHECK(edit_selection(e, &from, &to) && from.byte == 1 && to.byte == 5);
    edit_free(e);
}

TEST(words_end_where_clusters_end)
{
    edit *e = with("ab+\u0301cd");
    edit_set_cursor(e, (pos){0, 0});
    act(e, ACT_WORD_RIGHT);
    CHECK_INT(edit_cursor(e).byte, 2);
    act(e, ACT_WORD_RIGHT);
    CHECK_INT(edit_cursor(e).byte, 7);
    act(e, ACT_WORD_LEFT);
    CHECK_INT(edit_cursor(e).byte, 5);
    edit_free(e);
}

// After any edits, undoing all of them gives the beginning, and redoing all of them the end.
TEST(random_edits_are_undone_and_redone)
{
    static const char *const pieces[] = {"a", " ", "\n", "漢", "e\xcc\x81", "then", "  x\n y"};
    unsigned seed = 12345;
    for (int round = 0; round < 200; round++) {
        edit *e = with("begin\n  middle\nend");
        for (int i = 0; i < 60; i++) {
            seed = seed * 1103515245u + 12345u;
            unsigned pick = seed >> 16;
            const char *piece = pieces[pick % ARRAY_LEN(pieces)];
            if (pick % 3 == 0)
                edit_insert(e, piece, strlen(piece));
            else
                act(e, (enum action)(ACT_INSERT_NEWLINE +
                                     pick % (ACT_SELECT_LINE_END - ACT_INSERT_NEWLINE + 1)));
            pos p = edit_cursor(e);
            CHECK(pos_compare(p, text_clamp(edit_text(e), p)) == 0);
        }
        while (act(e, ACT_REDO))
            continue;
        AUTO_FREE char *end = mem_strdup(all(e));
        while (act(e, ACT_UNDO))
            continue;
        CHECK_STR(all(e), "begin\n  middle\nend");
        while (act(e, ACT_REDO))
            continue;
        CHECK_STR(all(e), end);
        edit_free(e);
        buf_done(&clipboard);
    }
}

int main(void)
{
    return tap_run();
}
