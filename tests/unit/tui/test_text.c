// SPDX-License-Identifier: MIT
// The text buffer, movements and searches.
#include "tests/support/tap.h"
#include "tui/edit/cursor.h"

static const char *all(const text *t)
{
    static buf out;
    buf_clear(&out);
    text_all(t, &out);
    return buf_cstr(&out);
}

static text *with(const char *s)
{
    text *t = text_new();
    text_set(t, s, strlen(s));
    return t;
}

static pos go(const text *t, pos p, enum move m)
{
    int goal = -1;
    return cursor_move(t, p, m, 3, &goal);
}
#define CHECK_POS(p, l, b)                                                                         \
    do {                                                                                           \
        pos p_ = (p);                                                                              \
        CHECK_INT(p_.line, l);                                                                     \
        CHECK_INT(p_.byte, b);                                                                     \
    } while (0)

TEST(insertions_split_and_deletions_join_lines)
{
    text *t = with("one\ntwo");
    CHECK_INT(text_lines(t), 2);
    CHECK_POS(text_insert(t, (pos){0, 1}, "X\nY\nZ", 5), 2, 1);
    CHECK_STR(all(t), "oX\nY\nZne\ntwo");
    text_delete(t, (pos){0, 1}, (pos){2, 1});
    CHECK_STR(all(t), "one\ntwo");
    text_insert(t, text_end(t), "\n", 1);
    CHECK_INT(text_lines(t), 3);
    text_delete(t, (pos){0, 0}, text_end(t));
    CHECK_STR(all(t), "");
    CHECK_INT(text_lines(t), 1);
    text_free(t);
}

TEST(any_bytes_survive)
{
    text *t = text_new();
    text_set(t, "a\r\nb\0c\xff\n", 8);
    AUTO_BUF out = {0};
    text_all(t, &out);
    CHECK_INT(out.len, 8);
    CHECK(memcmp(out.data, "a\r\nb\0c\xff\n", 8) == 0);
    text_free(t);
}

TEST(the_first_changed_line_is_known)
{
    text *t = with("a\nb\nc");
    CHECK_INT(text_take_dirty(t), 0);
    CHECK(text_take_dirty(t) == SIZE_MAX);
    text_insert(t, (pos){2, 0}, "x", 1);
    text_insert(t, (pos){1, 0}, "x", 1);
    CHECK_INT(text_take_dirty(t), 1);
    text_free(t);
}

TEST(positions_are_clamped_to_characters)
{
    text *t = with("a漢\nb");
    CHECK_POS(text_clamp(t, (pos){0, 2}), 0, 1);
    CHECK_POS(text_clamp(t, (pos){0, 99}), 0, 4);
    CHECK_POS(text_clamp(t, (pos){9, 9}), 1, 1);
    text_free(t);
}

TEST(moving_by_characters_and_words)
{
    text *t = with("local x漢 = f.g\n  end");
    CHECK_POS(go(t, (pos){0, 7}, MOVE_RIGHT), 0, 10);
    CHECK_POS(go(t, (pos){0, 10}, MOVE_LEFT), 0, 7);
    CHECK_POS(go(t, (pos){0, 0}, MOVE_WORD_RIGHT), 0, 5);
    CHECK_POS(go(t, (pos){0, 5}, MOVE_WORD_RIGHT), 0, 10);
    CHECK_POS(go(t, (pos){0, 10}, MOVE_WORD_LEFT), 0, 6);
    CHECK_POS(go(t, (pos){1, 0}, MOVE_LEFT), 0, 16);
    CHECK_POS(go(t, (pos){0, 16}, MOVE_RIGHT), 1, 0);
    CHECK_POS(go(t, (pos){1, 4}, MOVE_LINE_START), 1, 2);
    CHECK_POS(go(t, (pos){1, 2}, MOVE_LINE_START), 1, 0);
    CHECK_POS(go(t, (pos){0, 0}, MOVE_LEFT), 0, 0);
    CHECK_POS(go(t, (pos){1, 5}, MOVE_RIGHT), 1, 5);
    text_free(t);
}

TEST(moving_down_keeps_the_column_over_short_lines)
{
    text *t = with("long line\nab\n漢字漢字x");
    int goal = -1;
    pos p = cursor_move(t, (pos){0, 7}, MOVE_DOWN, 1, &goal);
    CHECK_POS(p, 1, 2);
    p = cursor_move(t, p, MOVE_DOWN, 1, &goal);
    CHECK_POS(p, 2, 9); // column 6: behind three wide ones
    p = cursor_move(t, p, MOVE_PAGE_UP, 10, &goal);
    CHECK_POS(p, 0, 7);
    text_free(t);
}

TEST(brackets_belong_together)
{
    text *t = with("f(a[1], {\n\n})\nx)");
    pos here, there;
    CHECK(cursor_bracket(t, (pos){0, 1}, &here, &there));
    CHECK_POS(there, 2, 1);
    CHECK(cursor_bracket(t, (pos){2, 2}, &here, &there)); // behind it
    CHECK_POS(here, 2, 1);
    CHECK_POS(there, 0, 1);
    CHECK(cursor_bracket(t, (pos){0, 5}, &here, &there));
    CHECK_POS(there, 0, 3);
    CHECK(cursor_bracket(t, (pos){0, 8}, &here, &there));
    CHECK_POS(there, 2, 0);
    CHECK(!cursor_bracket(t, (pos){3, 1}, &here, &there)); // it has no partner
    CHECK(!cursor_bracket(t, (pos){1, 0}, &here, &there));
    text_free(t);
}

TEST(text_from_outside_is_cleaned)
{
    AUTO_BUF out = {0};
    text_clean("a\r\nb\rc\033[1m\t\xff", 12, &out);
    CHECK_STR(buf_cstr(&out), "a\nb\nc[1m\t\uFFFD");
}

int main(void)
{
    return tap_run();
}
