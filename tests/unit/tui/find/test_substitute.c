// SPDX-License-Identifier: MIT
// ":s" as vi has it: groups, flags, letters' case, empty places, lines.
#include "base/mem.h"
#include "tests/support/tap.h"
#include "tui/edit/substitute.h"

#include <string.h>

// The text with the places replaced in all lines; or why that is not possible.
static const char *after(const char *line, const char *words)
{
    static buf out;
    err e = {0};
    CLEANUP(substitute_done) struct substitute s = {0};
    CLEANUP(replacements_done) struct replacements found = {0};
    buf_clear(&out);
    if (substitute_set(&s, line, "last", &e) < 0)
        return "wrong";
    text *t = text_new();
    text_set(t, words, strlen(words));
    substitute_find(&s, t, 0, SIZE_MAX, &found);
    replacements_apply(t, found.list, found.n, NULL, &out);
    text_free(t);
    return buf_cstr(&out);
}

TEST(groups_come_into_the_new_text)
{
    CHECK_STR(after("/value_([0-9]+)/v_\\1/", "value_12 = value_3"), "v_12 = value_3");
    CHECK_STR(after("/value_([0-9]+)/v_\\1/g", "value_12 = value_3"), "v_12 = v_3");
    CHECK_STR(after("/(a)(b)?/[\\2|\\1|\\0|&|\\&]/", "ac"), "[|a|a|a|&]c");
    CHECK_STR(after("/b/\\\\&/", "abc"), "a\\bc");
    CHECK_STR(after("/plain/<&>/", "a plain text"), "a <plain> text");
}

TEST(without_g_it_is_the_first_place_of_each_line)
{
    CHECK_STR(after("/a/b/", "a a\na a"), "b a\nb a");
    CHECK_STR(after("/a/b/g", "a a\na a"), "b b\nb b");
    CHECK_STR(after("/^/# /g", "a\nb"), "# a\n# b");
    CHECK_STR(after("/$/;/", "a\n\nb"), "a;\n;\nb;");
    CHECK_STR(after("/.*$/x/g", "ab"), "x");
    CHECK_STR(after("/x*/y/g", "ab"), "ab");
    CHECK_STR(after("/^a/b/g", "aaa"), "baa");
}

TEST(separators_and_flags_are_those_of_vi)
{
    CHECK_STR(after("#a/b#c/d#", "a/b"), "c/d");
    CHECK_STR(after("/a\\/b/c\\/d/", "a/b"), "c/d");
    CHECK_STR(after("/a/b", "a"), "b");
    CHECK_STR(after("/A/b/i", "a"), "b");
    CHECK_STR(after("/a/b/I", "A"), "A");
    CHECK_STR(after("//new/", "the last one"), "the new one");
    static const char *const wrong[] = {"", "/a", "a/b/c/", "/a/b/x", "\\a\\b\\", " /a/b/"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_STR(after(wrong[i], "a"), "wrong");
}

TEST(lines_tabs_and_case)
{
    CHECK_STR(after("/, /,\\n/g", "a, b, c"), "a,\nb,\nc");
    CHECK_STR(after("/a/\\t/", "a"), "\t");
    CHECK_STR(after("/([a-z]+)_([a-z]+)/\\u\\1\\U\\2\\E!\\L&/", "one_two"), "OneTWO!one_two");
}

int main(void)
{
    return tap_run();
}
