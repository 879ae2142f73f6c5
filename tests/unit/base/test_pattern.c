// SPDX-License-Identifier: MIT
#include "base/data/pattern.h"
#include "base/mem.h"
#include "tests/support/tap.h"

#include <locale.h>
#include <string.h>

// Where and how long a pattern is found: "3+2"; "-": nowhere.
static void check(const char *text, const char *line, const char *want)
{
    struct pattern p = {0};
    size_t length;
    char got[40] = "-";
    pattern_set(&p, text);
    const char *at = pattern_find(&p, line, strlen(line), 0, &length);
    if (at)
        snprintf(got, sizeof got, "%zu+%zu", (size_t)(at - line), length);
    CHECK_STR(got, want);
    pattern_done(&p);
}

TEST(small_letters_match_either_case_and_capitals_are_exact)
{
    check("err", "an ERROR", "3+3");
    check("Err", "an ERROR", "-");
    check("Err", "an Error", "3+3");
    check("e[rt]r", "an ERROR", "3+3");
    check("E[rt]r", "an ERROR", "-");
    check("\\Srror", "an ERROR", "3+5"); // the S is no letter
    check("", "anything", "-");
}

TEST(expressions_are_posix_extended)
{
    check("fail|error", "no error", "3+5");
    check("^no", "no error", "0+2");
    check("^error", "no error", "-");
    check("error$", "no error", "3+5");
    check("worker-(1|2)[0-9]\\b", "worker-1 worker-17", "9+9");
    check("a.c", "äbc aöc", "5+4"); // a character, not a byte
    check("x*", "aaxx", "2+2");
    check("x*", "aa", "0+0");
}

TEST(what_is_no_expression_stands_for_itself)
{
    struct pattern p = {0};
    check("f(x", "y = f(x)", "4+3");
    check("[", "a[1]", "1+1");
    check("*", "2 * 3", "2+1");
    pattern_set(&p, "f(x");
    CHECK(p.wrong[0]);
    pattern_set(&p, "f(x)");
    CHECK_STR(p.wrong, "");
    pattern_set(&p, "plain");
    CHECK_STR(p.wrong, "");
    pattern_done(&p);
}

TEST(a_filter_can_be_turned_round)
{
    static const struct {
        const char *filter, *line;
        bool passes;
    } cases[] = {{"", "x", true}, {"!", "x", true}, {"a", "x", false}, {"!a", "x", true},
        {"!a|x", "x", false}, {"!^x.", "x", true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pattern p = {0};
        pattern_set_filter(&p, cases[i].filter);
        CHECK(pattern_passes(&p, cases[i].line, strlen(cases[i].line)) == cases[i].passes);
        pattern_done(&p);
    }
}

TEST(further_places_in_a_line_are_not_its_start)
{
    struct pattern p = {0};
    size_t length;
    const char *line = "abab";
    pattern_set(&p, "^ab");
    CHECK(pattern_find(&p, line, 4, 0, &length) == line);
    CHECK(!pattern_find(&p, line, 4, 2, &length));
    pattern_set(&p, "ab");
    CHECK(pattern_find(&p, line, 4, 1, &length) == line + 2);
    CHECK(!pattern_find(&p, line, 4, 3, &length));
    CHECK(!pattern_find(&p, line, 4, 9, &length));
    pattern_done(&p);
}

TEST(a_long_line_does_not_take_for_ever)
{
    enum { N = 256 << 10 };
    struct pattern p = {0};
    size_t length;
    char *line = mem_alloc(N);
    memset(line, 'x', N);
    pattern_set(&p, "x.*y");
    CHECK(!pattern_find(&p, line, N, 0, &length));
    pattern_set(&p, "x$"); // its end is not what was looked at
    CHECK(!pattern_find(&p, line, N, 0, &length));
    pattern_done(&p);
    free(line);
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    return tap_run();
}
