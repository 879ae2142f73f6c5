// SPDX-License-Identifier: MIT
#include "base/str.h"
#include "tests/support/tap.h"
#include "tui/edit/keymap.h"

static const char *again(const char *name)
{
    static char out[KEY_NAME_SIZE];
    size_t len = 0;
    key k = key_parse(name, strlen(name), &len);
    key_print(k, out);
    return k && len == strlen(name) ? out : "(none)";
}

TEST(names_of_keys)
{
    static const char *const names[] = {"a", "A", "é", "-", "C-e", "M-Up", "S-Enter", "PgDn",
        "Space", "C-\\", "C-S-Left", "C-M-x", "F12", "M--", "C-_", "Esc"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        CHECK_STR(again(names[i]), names[i]);
    CHECK_STR(again("Upp"), "(none)");
    CHECK_STR(again(""), "(none)");
}

TEST(keys_a_terminal_cannot_tell_apart_are_one)
{
    CHECK_STR(again("C-m"), "Enter");
    CHECK_STR(again("C-i"), "Tab");
    CHECK_STR(again("C-["), "Esc");
    CHECK_STR(again("C-E"), "C-e");
    CHECK_STR(again("S-a"), "A");
    CHECK_INT(key_character('x'), 'x');
    CHECK_INT(key_character('x' | KEY_ALT), 0);
    CHECK_INT(key_character(FK_UP), 0);
}

static enum action type(
    struct key_input *in, const struct keymap *map, unsigned mode, const char *s)
{
    enum action a = ACT_NONE;
    for (size_t len; *s; s += len) {
        len = 1;
        if (*s != ' ')
            a = keymap_feed(in, &map, 1, mode, key_parse(s, strlen(s), &len));
    }
    return a;
}

TEST(sequences_complete_break_off_and_start_anew)
{
    struct key_input in = {0};
    const struct keymap *map = &notebook_keys;
    CHECK_INT(type(&in, map, MODE_COMMAND, "d"), ACT_NONE);
    CHECK_INT(in.n, 1);
    CHECK_INT(type(&in, map, MODE_COMMAND, "d"), ACT_DELETE_CELL);
    CHECK_INT(in.n, 0);
    CHECK_INT(type(&in, map, MODE_COMMAND, "d j"), ACT_CELL_NEXT);
    CHECK_INT(type(&in, map, MODE_COMMAND, "d 0 0"), ACT_RESTART);
    CHECK_INT(type(&in, map, MODE_EDIT, "d"), ACT_NONE);
    CHECK_INT(in.n, 0); // free for typing
    CHECK_INT(type(&in, map, MODE_EDIT, "C-e"), ACT_RUN);
    CHECK_INT(type(&in, map, MODE_EDIT, "C-r"), ACT_RUN_ADVANCE);
}

TEST(the_notebooks_table_is_sound)
{
    AUTO_BUF why = {0};
    bool sound = keymap_check(&notebook_keys, &why);
    CHECK_STR(buf_cstr(&why), "");
    CHECK(sound);
}

TEST(faults_in_a_table_are_found)
{
    static const struct binding unknown[] = {{1, "C-Foo", ACT_RUN}};
    static const struct binding twice[] = {{1, "a", ACT_RUN}, {3, "a", ACT_QUIT}};
    static const struct binding hidden[] = {{1, "g", ACT_RUN}, {1, "g g", ACT_QUIT}};
    static const struct binding apart[] = {{1, "a", ACT_RUN}, {2, "a", ACT_QUIT}};
    AUTO_BUF why = {0};
    CHECK(!keymap_check(&(struct keymap)KEYMAP(unknown), &why));
    CHECK(!keymap_check(&(struct keymap)KEYMAP(twice), &why));
    CHECK(!keymap_check(&(struct keymap)KEYMAP(hidden), &why));
    CHECK_HAS(buf_cstr(&why), "\"g\" (run) hides \"g g\" (quit)");
    CHECK(keymap_check(&(struct keymap)KEYMAP(apart), &why));
}

TEST(every_jupyter_key_is_bound)
{
    static const struct {
        unsigned mode;
        const char *keys;
        enum action action;
    } jupyter[] = {
        {MODE_COMMAND, "Enter", ACT_EDIT},
        {MODE_EDIT, "Esc", ACT_COMMAND},
        {MODE_COMMAND, "k", ACT_CELL_PREVIOUS},
        {MODE_COMMAND, "j", ACT_CELL_NEXT},
        {MODE_COMMAND, "S-Up", ACT_EXTEND_PREVIOUS},
        {MODE_COMMAND, "J", ACT_EXTEND_NEXT},
        {MODE_COMMAND, "a", ACT_INSERT_ABOVE},
        {MODE_COMMAND, "b", ACT_INSERT_BELOW},
        {MODE_COMMAND, "x", ACT_CUT},
        {MODE_COMMAND, "c", ACT_COPY},
        {MODE_COMMAND, "v", ACT_PASTE_BELOW},
        {MODE_COMMAND, "d d", ACT_DELETE_CELL},
        {MODE_COMMAND, "z", ACT_UNDO_CELL},
        {MODE_COMMAND, "Z", ACT_REDO_CELL},
        {MODE_COMMAND, "y", ACT_TO_CODE},
        {MODE_COMMAND, "m", ACT_TO_MARKDOWN},
        {MODE_COMMAND, "r", ACT_TO_RAW},
        {MODE_COMMAND, "3", ACT_HEADING_3},
        {MODE_COMMAND, "M", ACT_MERGE},
        {MODE_COMMAND, "C-S-Up", ACT_MOVE_UP},
        {MODE_COMMAND, "L", ACT_LINE_NUMBERS},
        {MODE_COMMAND, "i i", ACT_INTERRUPT},
        {MODE_COMMAND, "0 0", ACT_RESTART},
        {MODE_EDIT, "S-Enter", ACT_RUN_ADVANCE},
        {MODE_EDIT, "C-Enter", ACT_RUN},
        {MODE_EDIT, "M-Enter", ACT_RUN_INSERT},
        {MODE_EDIT, "C-S--", ACT_SPLIT},
        {MODE_EDIT, "Tab", ACT_INSERT_TAB},
        {MODE_EDIT, "S-Tab", ACT_INSPECT},
        {MODE_EDIT, "C-s", ACT_SAVE},
        {MODE_EDIT, "C-f", ACT_SEARCH},
    };
    for (size_t i = 0; i < sizeof jupyter / sizeof jupyter[0]; i++) {
        struct key_input in = {0};
        CHECK_STR(action_name(type(&in, &notebook_keys, jupyter[i].mode, jupyter[i].keys)),
            action_name(jupyter[i].action));
    }
}

TEST(help_is_the_table_with_each_action_once)
{
    struct help_line lines[128];
    const struct keymap *maps[] = {&notebook_keys};
    size_t n = keymap_help(maps, 1, MODE_COMMAND, lines, 128);
    CHECK(n > 50 && n < 128);
    CHECK_INT(lines[0].action, ACT_RUN_ADVANCE);
    CHECK_STR(lines[0].keys, "C-r, S-Enter");
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            CHECK(lines[i].action != lines[j].action);
    char keys[16];
    keymap_keys(maps, 1, MODE_EDIT, ACT_RUN, keys, sizeof keys);
    CHECK_STR(keys, "C-e");
    keymap_keys(maps, 1, MODE_EDIT, ACT_DELETE_CELL, keys, sizeof keys);
    CHECK_STR(keys, "");
}

TEST(a_hint_names_no_key_that_does_something_else)
{
    static const struct binding marking[] = {{MODE_VIEW, "Space", ACT_MARK_ROW}};
    static const struct keymap own = KEYMAP(marking);
    const struct keymap *maps[] = {&own, &scroll_keys};
    char keys[16];
    keymap_keys(maps, 2, MODE_VIEW, ACT_PAGE_DOWN, keys, sizeof keys);
    CHECK_STR(keys, "PgDn");
    keymap_keys(maps, 2, MODE_VIEW, ACT_MARK_ROW, keys, sizeof keys);
    CHECK_STR(keys, "Space");
    keymap_keys(&maps[1], 1, MODE_VIEW, ACT_PAGE_DOWN, keys, sizeof keys);
    CHECK_STR(keys, "Space");
}

TEST(actions_have_names_and_words)
{
    for (int a = ACT_NONE + 1; a < ACTION_COUNT; a++) {
        CHECK(*action_name((enum action)a));
        CHECK(*action_help((enum action)a));
    }
}

int main(void)
{
    return tap_run();
}
