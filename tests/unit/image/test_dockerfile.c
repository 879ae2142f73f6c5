// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/dockerfile/context.h"
#include "k8s/image/dockerfile/dockerfile.h"
#include "tests/support/tap.h"

#include <unistd.h>

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
    check_words("${A?x} ${A#a?} ${A##*} ${A%b} ${A%%?*} \"${A/ /_}\" ${A//[ab]/x}",
        "[a b][b][][a ][][a_b][a b]");
    check_words("$1 $@ ${A:-$NONE}x b\\", "[][][a bx][b]"); // an escape at the end is nothing
}

// Each is read as by BuildKit, beside which ./check wire reads thousands.
TEST(lines_are_continued_as_by_buildkit)
{
    static const struct {
        const char *text, *rest, *next;
    } cases[] = {
        {"ENV A=b\\\\\nENV C=d\n", "A=b\\\\", "C=d"},
        {"ENV A=b\\\nC=d\nENV E=f\n", "A=bC=d", "E=f"},
        {"ENV A=b \\  \t\n   C=d\nENV E=f\n", "A=b    C=d", "E=f"},
        {"ENV A=b \\\n# no\n\n  # no\n C=d\nENV E=f\n", "A=b  C=d", "E=f"},
        {"\xef\xbb\xbf"
         "ENV A=b\r\nENV E=f\r\n",
            "A=b", "E=f"},
        {"#escape=`\nENV A=b`\nC=d\nENV E=\\\n", "A=bC=d", "E=\\"},
        {"# Escape = `\n# syntax=x\nENV A=b``\nENV E=f\n", "A=b``", "E=f"},
        {"\n# escape=`\nENV A=b\\\nc\nENV E=f\n", "A=bc", "E=f"}, // too late
        {"ENV A=b\nENV E=f \\", "A=b", "E=f"},
        {"  ENV\tA=b  \nENV E=f\n", "A=b", "E=f"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err e = {0};
        struct dockerfile d;
        CHECK_OK(dockerfile_parse(cases[i].text, &d, &e) == 0, e);
        CHECK_INT(d.n, 2);
        CHECK_STR(d.steps[0].rest, cases[i].rest);
        CHECK_STR(d.steps[1].rest, cases[i].next);
        dockerfile_done(&d);
    }
}

TEST(here_documents_are_words)
{
    err e = {0};
    struct dockerfile d;
    static const char text[] =
        "RUN echo $((1<<2)) \"a <<b\" <<<c\nRUN cat <<'ONE' 3<<-\"T W\" >x\nFROM\n"
        "ONE\nEOF\n\t\tT W\nCOPY <<a.txt /x\na\na.txt\nENV A=<<B\n";
    CHECK_OK(dockerfile_parse(text, &d, &e) == 0, e);
    CHECK_INT(d.n, 4);
    CHECK(!d.steps[0].here && d.steps[1].here && d.steps[2].here && !d.steps[3].here);
    CHECK_INT(d.steps[2].line, 7);
    dockerfile_done(&d);
    CHECK_INT(dockerfile_parse("RUN <<EOF\nx\n", &d, &e), -1);
    CHECK_HAS(e.text, "1: the here-document has no end: a line “EOF”");
    CHECK_INT(dockerfile_parse("# escape=x\nFROM a\n", &d, &e), -1);
    CHECK_HAS(e.text, "1: escape is");
}

TEST(options_have_quotes)
{
    err e = {0};
    struct dockerfile d;
    static const char text[] = "COPY --chown=\"${U}:${G}\" --from='a b' --chmod=7\\55 -- --x /y\n";
    CHECK_OK(dockerfile_parse(text, &d, &e) == 0, e);
    CHECK_STR(d.steps[0].flags[0], "--chown=${U}:${G}");
    CHECK_STR(d.steps[0].flags[1], "--from=a b");
    CHECK_STR(d.steps[0].flags[2], "--chmod=755");
    CHECK(!d.steps[0].flags[3]);
    CHECK_STR(d.steps[0].rest, "--x /y");
    dockerfile_done(&d);
}

TEST(words_that_are_wrong)
{
    static const char *const bad[] = {"\"a", "'a", "${A", "${}", "${NONE:?no}", "${NONE?}",
        "${EMPTY:?}", "${A:#x}", "${A^}", "${A/b}"};
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
    CHECK_STR(d.steps[1].rest, "a   b");
    CHECK_INT(d.steps[1].line, 4);
    CHECK_STR(d.steps[3].rest, "[\"x\"]");
    CHECK_INT(d.steps[3].line, 12);
    const struct dockerfile_step *foreign = dockerfile_foreign(&d);
    CHECK(foreign && foreign->line == 9 && foreign->here);
    dockerfile_done(&d);
}

TEST(stages_are_no_images)
{
    err e = {0};
    struct dockerfile d;
    static const char *const args[] = {"V=3", NULL};
    static const char text[] = "ARG V\n"
                               "FROM python:$V AS base\n"
                               "FROM base AS work\n"
                               "COPY --from=tools:1 a b\n"
                               "COPY --from=0 a b\n"
                               "FROM scratch\n"
                               "COPY --from=work a b\n";
    CHECK_OK(dockerfile_parse(text, &d, &e) == 0, e);
    struct dockerfile_image *images = NULL;
    size_t n = 0;
    int status = dockerfile_images(
        &d, &(struct dockerfile_build){.name = "D", .args = args}, &images, &n, &e);
    CHECK_OK(status == 0, e);
    CHECK_INT(n, 2);
    CHECK_STR(images[0].said, "python:$V");
    CHECK_STR(images[0].name, "python:3");
    CHECK_STR(images[1].name, "tools:1");
    dockerfile_images_free(images, n);
    dockerfile_done(&d);
}

TEST(what_cannot_be_read_in_a_context_says_why)
{
    err e = {0};
    AUTO_BUF text = {0};
    struct context c;
    AUTO_FREE char *file = path_join(tap_dir(), "file"), *link = path_join(tap_dir(), "out");
    CHECK_OK(path_write(file, "x", 1, 0644, &e) == 0, e);
    CHECK_INT(symlink("../elsewhere", link), 0);
    CHECK_OK(context_open(&c, tap_dir(), &e) == 0, e);
    CHECK_INT(context_read(&c, "none", &text, 100, &e), -1);
    CHECK_HAS(e.text, "there is no none in ");
    CHECK_INT(context_read(&c, "../secret", &text, 100, &e), -1);
    CHECK_HAS(e.text, "there is no ../secret in ");
    CHECK_INT(context_read(&c, "file/x", &text, 100, &e), -1);
    CHECK_HAS(e.text, "Not a directory");
    CHECK_INT(context_read(&c, "out", &text, 100, &e), -1);
    CHECK_HAS(e.text, "is a link to ../elsewhere, which is not in that folder");
    context_done(&c);
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
