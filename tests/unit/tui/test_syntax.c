// SPDX-License-Identifier: MIT
// Highlighting: each line is compared with a letter under each byte that has a class.
#include "tests/support/tap.h"
#include "tui/edit/text.h"
#include "tui/syntax/syntax.h"

static const char letters[CLASS_COUNT] = {[CLASS_TEXT] = '.',
    [CLASS_KEYWORD] = 'k',
    [CLASS_CONSTANT] = 'c',
    [CLASS_NUMBER] = 'n',
    [CLASS_STRING] = 's',
    [CLASS_ESCAPE] = 'e',
    [CLASS_COMMENT] = '-',
    [CLASS_FUNCTION] = 'f',
    [CLASS_VARIABLE] = 'v',
    [CLASS_KEY] = 'K',
    [CLASS_OPERATOR] = 'o',
    [CLASS_MAGIC] = 'm',
    [CLASS_HEADING] = 'H',
    [CLASS_EMPHASIS] = 'i',
    [CLASS_STRONG] = 'b',
    [CLASS_CODE] = 'C',
    [CLASS_LINK] = 'l',
    [CLASS_LIST] = 'L',
    [CLASS_QUOTE] = 'q'};

static syntax_state state;

static const char *marks(syntax_language language, const char *line)
{
    static char out[512];
    struct span spans[SYNTAX_SPANS];
    size_t n = strlen(line), count;
    state = syntax_line(language, state, line, n, spans, &count);
    memset(out, '.', n);
    out[n] = '\0';
    for (size_t i = 0; i < count; i++)
        memset(out + spans[i].from, letters[spans[i].class], spans[i].to - spans[i].from);
    return out;
}

TEST(lua)
{
    state = 0;
    CHECK_STR(marks(SYNTAX_LUA, "local x = f(1.5e-3, \"a\\n\", nil) -- c"),
        "kkkkk...o.fonnnnnno.ssees"
        "o.ccco.----");
    CHECK_STR(marks(SYNTAX_LUA, "s = [==[ long"), "..o.sssssssss");
    CHECK_STR(marks(SYNTAX_LUA, "]] in ]==] .. 1..2"), "ssssssssss.oo.noon");
    CHECK_STR(marks(SYNTAX_LUA, "--[[ c"), "------");
    CHECK_STR(marks(SYNTAX_LUA, "]] end"), "--.kkk");
    CHECK_STR(marks(SYNTAX_LUA, "!kubectl get"), "mmmmmmmmmmmm");
    CHECK_STR(marks(SYNTAX_LUA, "%env A=1"), "mmmmmmmm");
    CHECK_STR(marks(SYNTAX_LUA, "'open"), "sssss");
    CHECK_STR(marks(SYNTAX_LUA, "'\\27[1m\\x1b\\u{1F600}\\0001'"), "seeesssee"
                                                                   "eeeeeeeeeeeeeeess");
    CHECK_INT(state, 0); // a short string ends with its line
}

TEST(yaml)
{
    state = 0;
    CHECK_STR(marks(SYNTAX_YAML, "spec: # c"), "KKKKo.---");
    CHECK_STR(marks(SYNTAX_YAML, "  - name: \"a\""), "..o.KKKKo.sss");
    CHECK_STR(marks(SYNTAX_YAML, "    n: 5"), "....Ko.n");
    CHECK_STR(marks(SYNTAX_YAML, "  image: ${IMAGE}:1"), "..KKKKKo.vvvvvvvvss");
    CHECK_STR(marks(SYNTAX_YAML, "  on: true"), "..KKo.cccc");
    CHECK_STR(marks(SYNTAX_YAML, "  run: |-"), "..KKKo.oo");
    CHECK_STR(marks(SYNTAX_YAML, "    a: b"), "ssssssss");
    CHECK_STR(marks(SYNTAX_YAML, ""), "");
    CHECK_STR(marks(SYNTAX_YAML, "  next: [1, x]"), "..KKKKo.ono.so");
}

TEST(bash)
{
    state = 0;
    CHECK_STR(marks(SYNTAX_BASH, "for i in $X; do echo \"$i\" -n; done # c"),
        "kkk......vvo.kk.ffff.svvs.cco.kkkk.---");
    CHECK_STR(marks(SYNTAX_BASH, "cat <<EOF"), "fff.ookkk");
    CHECK_STR(marks(SYNTAX_BASH, "a $X"), "ssvv");
    CHECK_STR(marks(SYNTAX_BASH, "EOF"), "kkk");
    CHECK_STR(marks(SYNTAX_BASH, "echo 'a"), "ffff.ss");
    CHECK_STR(marks(SYNTAX_BASH, "b' c"), "ss..");
}

TEST(python)
{
    state = 0;
    CHECK_STR(marks(SYNTAX_PYTHON, "@dec"), "mmmm");
    CHECK_STR(marks(SYNTAX_PYTHON, "def f(x): return None # c"), "kkk.fo.oo.kkkkkk.cccc.---");
    CHECK_STR(marks(SYNTAX_PYTHON, "x = \"\"\"doc"), "..o.ssssss");
    CHECK_STR(marks(SYNTAX_PYTHON, "def \"\"\" + f'a'"), "sssssss.o.ssss");
}

TEST(dockerfile)
{
    state = 0;
    CHECK_STR(marks(SYNTAX_DOCKERFILE, "FROM base AS x"), "kkkk......kk..");
    CHECK_STR(marks(SYNTAX_DOCKERFILE, "RUN a $X \\"), "kkk...vv.e");
    CHECK_STR(marks(SYNTAX_DOCKERFILE, "# c"), "---");
    CHECK_STR(marks(SYNTAX_DOCKERFILE, "RUN \"b\""), "....sss"); // it goes on
    CHECK_INT(syntax_by_file("a/Dockerfile.gpu"), SYNTAX_DOCKERFILE);
}

TEST(markdown)
{
    state = 0;
    CHECK_STR(marks(SYNTAX_MARKDOWN, "## Title"), "HHHHHHHH");
    CHECK_STR(marks(SYNTAX_MARKDOWN, "a *b* **c** `d` e_f_g"), "..iii.bbbbb.CCC......");
    CHECK_STR(marks(SYNTAX_MARKDOWN, "- [x](y) 2 * 3"), "L.llllll......");
    CHECK_STR(marks(SYNTAX_MARKDOWN, "```lua"), "CCCCCC");
    CHECK_STR(marks(SYNTAX_MARKDOWN, "--[[ c"), "------"); // the fence's language, with its state
    CHECK_STR(marks(SYNTAX_MARKDOWN, "]] nil"), "--.ccc");
    CHECK_STR(marks(SYNTAX_MARKDOWN, "```"), "CCC");
    CHECK_STR(marks(SYNTAX_MARKDOWN, "> q"), "qqq");
    CHECK_STR(marks(SYNTAX_MARKDOWN, "---"), "ooo");
}

static const char *source(const void *arg, size_t line, size_t *n)
{
    return text_line(arg, line, n);
}

TEST(a_change_reaches_the_lines_below)
{
    text *t = text_new();
    text_set(t, "x\ny\nend", 7);
    syntax_cache *c = syntax_cache_new();
    struct span spans[SYNTAX_SPANS];
    CHECK_INT(syntax_cache_spans(c, SYNTAX_LUA, source, t, 2, spans), 1);
    CHECK_INT(spans[0].class, CLASS_KEYWORD);
    text_take_dirty(t);
    text_insert(t, (pos){0, 0}, "--[[", 4);
    syntax_cache_touch(c, text_take_dirty(t));
    CHECK_INT(syntax_cache_spans(c, SYNTAX_LUA, source, t, 2, spans), 1);
    CHECK_INT(spans[0].class, CLASS_COMMENT);
    syntax_cache_free(c);
    text_free(t);
}

TEST(languages_have_names)
{
    CHECK_INT(syntax_by_name("YAML"), SYNTAX_YAML);
    CHECK_INT(syntax_by_name("sh"), SYNTAX_BASH);
    CHECK_INT(syntax_by_file("a/b.yml"), SYNTAX_YAML);
    CHECK_INT(syntax_by_file("trainer.lua"), SYNTAX_LUA);
    CHECK_INT(syntax_by_file("none"), SYNTAX_PLAIN);
    CHECK_STR(syntax_writing(SYNTAX_LUA)->comment, "--");
}

int main(void)
{
    return tap_run();
}
