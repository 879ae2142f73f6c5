// SPDX-License-Identifier: MIT
#include "tui/syntax/syntax.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/text/ansi.h"
#include "tui/syntax/scan.h"

#include <string.h>
#include <strings.h>

static syntax_state plain(struct scan *sc, syntax_state state)
{
    return 0;
}

static const struct {
    const char *name;
    syntax_state (*line)(struct scan *sc, syntax_state state);
    struct syntax_writing writing;
} languages[SYNTAX_LANGUAGE_COUNT] = {
    [SYNTAX_PLAIN] = {"text", plain, {"", "", "", 4}},
    [SYNTAX_LUA] = {"lua", syntax_lua,
        {"--", "function then do else repeat { ( [", "end else elseif until } ) ]", 2}},
    [SYNTAX_YAML] = {"yaml", syntax_yaml, {"#", ": | > |- >- { [", "} ]", 2}},
    [SYNTAX_BASH] = {"bash", syntax_bash,
        {"#", "then do else in { (", "fi done else elif esac } )", 2}},
    [SYNTAX_PYTHON] = {"python", syntax_python, {"#", ": { ( [", "} ) ]", 4}},
    [SYNTAX_DOCKERFILE] = {"dockerfile", syntax_dockerfile, {"#", "", "", 4}},
    [SYNTAX_MARKDOWN] = {"markdown", syntax_markdown, {"", "", "", 2}},
};

syntax_state syntax_line(syntax_language language, syntax_state state, const char *s, size_t n,
    struct span *spans, size_t *count)
{
    struct scan sc = {.s = s, .n = n, .spans = spans};
    if ((unsigned)language >= SYNTAX_LANGUAGE_COUNT)
        language = SYNTAX_PLAIN;
    state = languages[language].line(&sc, state);
    *count = sc.count;
    return state;
}

syntax_language syntax_by_name(const char *name)
{
    static const struct {
        const char *alias;
        syntax_language language;
    } aliases[] = {{"yml", SYNTAX_YAML}, {"sh", SYNTAX_BASH}, {"shell", SYNTAX_BASH},
        {"py", SYNTAX_PYTHON}, {"python3", SYNTAX_PYTHON}, {"docker", SYNTAX_DOCKERFILE},
        {"containerfile", SYNTAX_DOCKERFILE}, {"md", SYNTAX_MARKDOWN}, {"json", SYNTAX_YAML}};
    for (int i = 0; i < SYNTAX_LANGUAGE_COUNT; i++)
        if (strcasecmp(name, languages[i].name) == 0)
            return (syntax_language)i;
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
        if (strcasecmp(name, aliases[i].alias) == 0)
            return aliases[i].language;
    return SYNTAX_PLAIN;
}

syntax_language syntax_by_file(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strncasecmp(name, "Dockerfile", 10) == 0 || strncasecmp(name, "Containerfile", 13) == 0)
        return SYNTAX_DOCKERFILE;
    const char *dot = strrchr(name, '.');
    return dot ? syntax_by_name(dot + 1) : SYNTAX_PLAIN;
}

const struct syntax_writing *syntax_writing(syntax_language language)
{
    return &languages[language].writing;
}

// Uses only attributes and those of the eight colours that are readable on light and dark
// backgrounds; the attributes also show on terminals without colours.
style syntax_style(enum syntax_class c)
{
    static const style styles[CLASS_COUNT] = {
        [CLASS_KEYWORD] = {.fg = COLOR_INDEX(5), .attrs = ATTR_BOLD},
        [CLASS_CONSTANT] = {.fg = COLOR_INDEX(6)},
        [CLASS_NUMBER] = {.fg = COLOR_INDEX(6)},
        [CLASS_STRING] = {.fg = COLOR_INDEX(2)},
        [CLASS_ESCAPE] = {.fg = COLOR_INDEX(3)},
        [CLASS_COMMENT] = {.attrs = ATTR_DIM},
        [CLASS_FUNCTION] = {.fg = COLOR_INDEX(4)},
        [CLASS_VARIABLE] = {.fg = COLOR_INDEX(3)},
        [CLASS_KEY] = {.fg = COLOR_INDEX(4)},
        [CLASS_MAGIC] = {.fg = COLOR_INDEX(5)},
        [CLASS_HEADING] = {.fg = COLOR_INDEX(4), .attrs = ATTR_BOLD},
        [CLASS_EMPHASIS] = {.attrs = ATTR_ITALIC},
        [CLASS_STRONG] = {.attrs = ATTR_BOLD},
        [CLASS_CODE] = {.fg = COLOR_INDEX(2)},
        [CLASS_LINK] = {.fg = COLOR_INDEX(4), .attrs = ATTR_UNDERLINE},
        [CLASS_LIST] = {.fg = COLOR_INDEX(3)},
        [CLASS_QUOTE] = {.attrs = ATTR_DIM | ATTR_ITALIC},
    };
    return (unsigned)c < CLASS_COUNT ? styles[c] : (style){0};
}

// states[i] is the state at the start of line i, known for i < known.
struct syntax_cache {
    syntax_state *states;
    size_t known, cap;
};

syntax_cache *syntax_cache_new(void)
{
    return mem_alloc(sizeof(syntax_cache));
}

void syntax_cache_free(syntax_cache *c)
{
    if (!c)
        return;
    free(c->states);
    free(c);
}

void syntax_cache_touch(syntax_cache *c, size_t line)
{
    if (line < c->known) // the state at its own start does not change
        c->known = line + 1;
}

static void remember(syntax_cache *c, syntax_state state)
{
    if (c->known == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 64;
        c->states = mem_resize(c->states, c->cap, sizeof *c->states);
    }
    c->states[c->known++] = state;
}

size_t syntax_cache_spans(syntax_cache *c, syntax_language language, syntax_source *source,
    const void *arg, size_t line, struct span *spans)
{
    if (!c->known)
        remember(c, 0);
    size_t n, count;
    while (c->known <= line) {
        const char *s = source(arg, c->known - 1, &n);
        remember(c, syntax_line(language, c->states[c->known - 1], s, n, spans, &count));
    }
    const char *s = source(arg, line, &n);
    syntax_state after = syntax_line(language, c->states[line], s, n, spans, &count);
    if (c->known == line + 1)
        remember(c, after);
    return count;
}

void syntax_colour(syntax_language language, const char *words, buf *out)
{
    syntax_state state = 0;
    struct span spans[SYNTAX_SPANS];
    while (*words) {
        size_t n = strcspn(words, "\n"), count, at = 0;
        state = syntax_line(language, state, words, n, spans, &count);
        for (size_t i = 0; i < count; i++) {
            buf_add(out, words + at, spans[i].from - at);
            ansi_select(out, syntax_style(spans[i].class));
            buf_add(out, words + spans[i].from, spans[i].to - spans[i].from);
            buf_str(out, "\033[m");
            at = spans[i].to;
        }
        buf_add(out, words + at, n - at);
        buf_add(out, "\n", words[n] == '\n');
        words += n + (words[n] == '\n');
    }
}
