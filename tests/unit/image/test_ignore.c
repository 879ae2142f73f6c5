// SPDX-License-Identifier: MIT
#include "base/str.h"
#include "k8s/image/ignore.h"
#include "tests/support/tap.h"

static bool ignored(const char *text, const char *path)
{
    char **patterns = ignore_parse(text);
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

int main(void)
{
    return tap_run();
}
