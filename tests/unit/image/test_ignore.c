// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/ignore.h"
#include "tests/support/tap.h"

static bool ignored(const char *text, const char *path)
{
    char **patterns = ignore_parse(text, NULL);
    bool result = ignore_matches((const char *const *)patterns, path);
    strv_free(patterns);
    return result;
}

TEST(names_and_folders)
{
    CHECK(ignored("a.txt", "a.txt"));
    CHECK(!ignored("a.txt", "b/a.txt"));
    CHECK(ignored("/b/", "b/c/d"));
    CHECK(ignored("./b", "b"));
    CHECK(ignored("*/c", "b/c"));
    CHECK(!ignored("*", ""));
    CHECK(ignored("*.py[co]", "x.pyc"));
    CHECK(!ignored("*.pyc", "b/x.pyc"));
    CHECK(!ignored("", "a"));
    CHECK(!ignored("# a\n\n", "# a"));
}

TEST(any_number_of_folders)
{
    CHECK(ignored("**/*.pyc", "x.pyc"));
    CHECK(ignored("**/*.pyc", "a/b/x.pyc"));
    CHECK(ignored("**/__pycache__", "a/__pycache__/x"));
    CHECK(ignored("a/**/z", "a/z"));
    CHECK(ignored("a/**/z", "a/b/c/z"));
    CHECK(!ignored("a/**/z", "b/z"));
    CHECK(ignored("**", "a/b"));
    CHECK(ignored("a/**", "a/b/c"));
    CHECK(!ignored("a/**", "a"));
}

TEST(the_last_one_decides)
{
    CHECK(!ignored("*.md\n!README.md", "README.md"));
    CHECK(ignored("*.md\n!README.md", "x.md"));
    CHECK(ignored("!README.md\n*.md", "README.md"));
    CHECK(!ignored("data\r\n!data/keep", "data/keep"));
    CHECK(ignored("data\n!data/keep", "data/other"));
}

// Each as moby's matcher has it; ./check wire has its whole table.
TEST(oddities_of_mobys_matcher)
{
    CHECK(ignored("\xef\xbb\xbfsecret", "secret")); // a byte order mark
    CHECK(ignored("  spaced  ", "spaced"));
    CHECK(ignored("a/../b", "b"));
    CHECK(ignored("../x", "../x") && !ignored("../x", "x"));
    CHECK(ignored("a//b/./c/", "a/b/c/d"));
    CHECK(ignored("**x", "yx") && ignored("**/x", "a/x") && !ignored("**/x", "ax"));
    CHECK(ignored("a/**/*.c", "a/b/c/d.c") && ignored("a/**/*.c", "a/d.c"));
    CHECK(ignored("[^a]", "b") && !ignored("[^a]", "a") && ignored("[!a]", "a"));
    CHECK(ignored("a?c", "a\xc3\xa9"
                         "c") &&
          !ignored("a?c", "a/c"));
    CHECK(ignored("a\\*", "a*") && !ignored("a\\*", "ab"));
    CHECK(!ignored(
        "a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

TEST(what_is_no_pattern_is_refused)
{
    static const char *const bad[] = {
        "a\n[", "a\n[]", "a\n[a-]", "a\n[-a]", "a\nb\\", "a\n!", "a\n!["};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err e = {0};
        CHECK(!ignore_parse(bad[i], &e));
        CHECK_HAS(e.text, "line 2: “");
    }
}

int main(void)
{
    return tap_run();
}
