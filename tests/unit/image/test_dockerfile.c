// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/dockerfile.h"
#include "tests/support/tap.h"

static const char *look_up(void *arg, const char *name)
{
    return str_eq(name, "A") ? "a b" : str_eq(name, "EMPTY") ? "" : NULL;
}

// The words, each in brackets.
static char *words(const char *text)
{
    err e = {0};
    char **list;
    buf out = {0};
    struct dockerfile_values values = {look_up, NULL, 1000};
    CHECK_OK(dockerfile_words(text, &values, &list, &e) == 0, e);
    for (char **w = list; *w; w++)
        buf_fmt(&out, "[%s]", *w);
    strv_free(list);
    buf_char(&out, '\0');
    return buf_take(&out);
}

static void check_words(const char *text, const char *want)
{
    AUTO_FREE char *got = words(text);
    CHECK_STR(got, want);
}

TEST(words_and_quotes)
{
    check_words("a  b\tc ", "[a][b][c]");
    check_words("\"a b\" 'c d' e\\ f", "[a b][c d][e f]");
    check_words("x=\"1 2\"3", "[x=1 23]");
    check_words("'' \"\"", "[][]");
    check_words("\"a\\\"b\\n\"", "[a\"b\\n]");
    check_words("", "");
}

TEST(variables)
{
    check_words("$A ${A} '$A' \\$A", "[a b][a b][$A][$A]"); // a value is not split
    check_words("x${A}y $NONE-", "[xa by][-]");
    check_words("${NONE:-d} ${A:-d} ${EMPTY:-d} ${EMPTY-d}", "[d][a b][d][]");
    check_words("${A:+set} ${NONE:+set}- ${EMPTY+set}", "[set][-][set]");
    check_words("${NONE:-${A}x}", "[a bx]");
    check_words("$ 5$", "[$][5$]");
}

TEST(words_that_are_wrong)
{
    static const char *const bad[] = {"\"a", "'a", "${A", "${}", "${A:?no}", "${A%x}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err e = {0};
        char **list;
        struct dockerfile_values values = {look_up, NULL, 1000};
        CHECK_INT(dockerfile_words(bad[i], &values, &list, &e), -1);
        CHECK_INT(e.code, ERR_INVALID);
    }
}

TEST(what_variables_stand_for_is_bounded)
{
    err e = {0};
    char **list;
    struct dockerfile_values values = {look_up, NULL, 7};
    AUTO_FREE char *two = dockerfile_text("$A${A:-x}and more", &values, &e);
    CHECK_STR(two, "a ba band more"); // only values count
    CHECK_INT(values.left, 1);
    CHECK_INT(dockerfile_words("x $A", &values, &list, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_HAS(e.text, "with $A, variables of this file stand for more than");
    CHECK(!list && !dockerfile_text("${NONE:-$A}", &values, &e));
}

// Texts whose lexing once took the square of their length.
TEST(long_texts_take_no_time)
{
    err e = {0};
    AUTO_BUF words = {0}, deep = {0};
    struct dockerfile_values values = {look_up, NULL, 1000};
    char **list;
    for (int i = 0; i < 500000; i++) {
        buf_str(&words, "a ");
        buf_str(&deep, "${NONE:-");
    }
    for (int i = 0; i < 500000; i++)
        buf_char(&deep, '}');
    CHECK_OK(dockerfile_words(buf_cstr(&words), &values, &list, &e) == 0, e);
    CHECK(str_eq(list[499999], "a") && !list[500000]);
    strv_free(list);
    free(dockerfile_text(buf_cstr(&deep), &values, &e));
}

TEST(steps)
{
    err e = {0};
    struct dockerfile d;
    static const char text[] = "# syntax=docker/dockerfile:1\n"
                               "\n"
                               "from base AS one\r\n"
                               "COPY --from=x --chown=1:2 \\\n"
                               "  # between\n"
                               "  a \\\n"
                               "\n"
                               "  b\n"
                               "RUN <<EOF\n"
                               "COPY is not a step here\n"
                               "EOF\n"
                               "CMD [\"x\"]";
    CHECK_OK(dockerfile_parse(text, &d, &e) == 0, e);
    CHECK_INT(d.n, 4);
    CHECK_STR(d.steps[0].name, "FROM");
    CHECK_STR(d.steps[0].rest, "base AS one");
    CHECK_INT(d.steps[0].line, 3);
    CHECK_STR(d.steps[1].flags[0], "--from=x");
    CHECK_STR(d.steps[1].flags[1], "--chown=1:2");
    CHECK_STR(d.steps[1].rest, "a b");
    CHECK_INT(d.steps[1].line, 4);
    CHECK_STR(d.steps[3].rest, "[\"x\"]");
    CHECK_INT(d.steps[3].line, 12);
    const struct dockerfile_step *foreign = dockerfile_foreign(&d);
    CHECK(foreign && foreign->line == 9 && foreign->here);
    dockerfile_done(&d);
}

TEST(what_is_no_instruction)
{
    err e = {0};
    struct dockerfile d;
    CHECK_INT(dockerfile_parse("FROM x\nCOPPY a b\n", &d, &e), -1);
    CHECK_STR(e.text, "2: “COPPY” is no instruction: did you mean COPY");
}

int main(void)
{
    return tap_run();
}
