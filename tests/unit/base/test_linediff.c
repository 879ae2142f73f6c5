// SPDX-License-Identifier: MIT
// Differences of texts: what `diff -u` prints, and hunks that make one text of the other.
#include "base/data/linediff.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/support/tap.h"

#include <stdlib.h>

static const char *difference(buf *out, const char *old, const char *new_)
{
    buf_clear(out);
    linediff(out, "a", "b", old, new_);
    return buf_cstr(out);
}

TEST(equal_texts_have_no_difference)
{
    AUTO_BUF out = {0};
    CHECK(!linediff(&out, "a", "b", "x\ny\n", "x\ny\n"));
    CHECK(!linediff(&out, "a", "b", "", ""));
    CHECK_INT(out.len, 0);
}

// The texts on the right are GNU diff's (diff -u --label a --label b).
TEST(hunks_are_those_of_diff)
{
    AUTO_BUF out = {0};
    CHECK_STR(difference(&out, "", "x\ny\n"), "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+x\n+y\n");
    CHECK_STR(difference(&out, "x\n", ""), "--- a\n+++ b\n@@ -1 +0,0 @@\n-x\n");
    CHECK_STR(difference(&out, "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nV\n6\n7\n8\n9\n"),
        "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+V\n 6\n 7\n 8\n");
    CHECK_STR(difference(&out, "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", "A\nb\nc\nd\ne\nf\ng\nh\ni\nJ\n"),
        "--- a\n+++ b\n@@ -1,4 +1,4 @@\n-a\n+A\n b\n c\n d\n@@ -7,4 +7,4 @@\n g\n h\n i\n-j\n+J\n");
    CHECK_STR(difference(&out, "a\nb\nc\nd\ne\nf\ng\nh\n", "A\nb\nc\nd\ne\nf\ng\nH\n"),
        "--- a\n+++ b\n@@ -1,8 +1,8 @@\n-a\n+A\n b\n c\n d\n e\n f\n g\n-h\n+H\n");
}

TEST(what_repeats_the_lines_before_it_is_added_behind_them)
{
    AUTO_BUF out = {0};
    CHECK_STR(difference(&out, "- a\n  x: 1\n- b\n  x: 1\nend\n",
                  "- a\n  x: 1\n- b\n  x: 1\n- c\n  x: 1\nend\n"),
        "--- a\n+++ b\n@@ -2,4 +2,6 @@\n   x: 1\n - b\n   x: 1\n+- c\n+  x: 1\n end\n");
}

// Makes the new text of the old one and the hunks; checks what the hunks say of the old text.
static char *patched(const char *old, const char *hunks)
{
    AUTO_BUF out = {0};
    long line = 1;
    while (*hunks) {
        const char *end = strchr(hunks, '\n');
        if (strncmp(hunks, "@@ -", 4) == 0) {
            char *rest;
            long at = strtol(hunks + 4, &rest, 10),
                 n = *rest == ',' ? strtol(rest + 1, NULL, 10) : 1;
            for (at += n == 0; line < at; line++) {
                const char *stop = strchr(old, '\n');
                buf_add(&out, old, (size_t)(stop - old) + 1);
                old = stop + 1;
            }
        } else if (*hunks == '+' && strncmp(hunks, "+++ ", 4) != 0) {
            buf_add(&out, hunks + 1, (size_t)(end - hunks));
        } else if (*hunks == ' ' || (*hunks == '-' && strncmp(hunks, "--- ", 4) != 0)) {
            size_t n = (size_t)(end - hunks);
            CHECK(strncmp(old, hunks + 1, n) == 0);
            if (*hunks == ' ')
                buf_add(&out, old, n);
            old += n;
            line++;
        }
        hunks = end + 1;
    }
    buf_str(&out, old);
    return buf_take(&out);
}

static void random_text(buf *out, unsigned *seed, int lines, int words)
{
    buf_clear(out);
    for (int i = 0; i < lines; i++)
        buf_fmt(out, "%d\n", rand_r(seed) % words);
}

TEST(hunks_lead_from_one_text_to_the_other)
{
    AUTO_BUF a = {0}, b = {0}, out = {0};
    for (unsigned seed = 1, i = 0; i < 3000; i++) {
        random_text(&a, &seed, rand_r(&seed) % 40, 1 + rand_r(&seed) % 9);
        random_text(&b, &seed, rand_r(&seed) % 40, 1 + rand_r(&seed) % 9);
        AUTO_FREE char *made = patched(buf_cstr(&a), difference(&out, buf_cstr(&a), buf_cstr(&b)));
        CHECK_STR(made, buf_cstr(&b));
    }
}

TEST(large_texts_without_anything_in_common_take_no_time_to_speak_of)
{
    AUTO_BUF a = {0}, b = {0}, out = {0};
    unsigned seed = 7;
    random_text(&a, &seed, 20000, 15000);
    random_text(&b, &seed, 20000, 15000);
    AUTO_FREE char *made = patched(buf_cstr(&a), difference(&out, buf_cstr(&a), buf_cstr(&b)));
    CHECK_STR(made, buf_cstr(&b));
}

int main(void)
{
    return tap_run();
}
