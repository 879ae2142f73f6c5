// SPDX-License-Identifier: MIT
// Splits a Dockerfile's text into words and expands variables. Source: BuildKit, shell/lex.go
// (expansion) and parser/line_parsers.go (words).
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/dockerfile/dockerfile.h"

#include <ctype.h>
#include <string.h>

enum { DEPTH = 20 };

struct lexer {
    struct dockerfile_values *values;
    const char *p, *end;
    char escape;
    int depth;
};

static int lex(struct lexer *x, char stop, bool raw, buf *out, err *e);

static bool at_end(const struct lexer *x)
{
    return x->p >= x->end;
}

static char peek(const struct lexer *x)
{
    return at_end(x) ? '\0' : *x->p;
}

// A name, digits, or a special parameter such as "@"; new, "" if there is none.
static char *take_name(struct lexer *x)
{
    const char *from = x->p;
    if (strchr("@*#?-$!", peek(x)) && peek(x))
        x->p++;
    else if (isdigit((unsigned char)peek(x)))
        while (isdigit((unsigned char)peek(x)))
            x->p++;
    else
        while (isalnum((unsigned char)peek(x)) || peek(x) == '_')
            x->p++;
    return mem_strndup(from, (size_t)(x->p - from));
}

static int put(const struct lexer *x, const char *name, const char *value, buf *out, err *e)
{
    size_t n = value ? strlen(value) : 0;
    if (n > x->values->left)
        return err_set(e, ERR_LIMIT,
            "with $%s, variables of this file stand for more than %zu bytes, which is the most "
            "here: does one have another one many times over?",
            str_short(name, 60).text, DOCKERFILE_VALUES_MOST);
    x->values->left -= n;
    buf_add(out, value, n);
    return 0;
}

static const char *value_of(const struct lexer *x, const char *name)
{
    const struct dockerfile_values *v = x->values;
    return v->lookup ? v->lookup(v->arg, name) : NULL;
}

// Does a pattern of the shell match n bytes? "*" and "?" are the only wildcards.
static bool matches(const char *pattern, const char *text, size_t n)
{
    const char *star = NULL, *again = NULL, *end = text + n;
    while (text < end || *pattern) {
        bool escaped = *pattern == '\\' && pattern[1];
        if (*pattern == '*') {
            star = ++pattern;
            again = text;
        } else if (text < end && *pattern && (*pattern == '?' || pattern[escaped] == *text)) {
            pattern += 1 + escaped;
            text++;
        } else if (star && again < end) {
            pattern = star;
            text = ++again;
        } else
            return false;
    }
    return true;
}

// "#", "##", "%", "%%": the value without what the pattern matches at its beginning or end.
static void trim(const char *pattern, bool suffix, const char *value, buf *out)
{
    size_t n = strlen(value), best = SIZE_MAX;
    bool longest = *pattern == (suffix ? '%' : '#');
    pattern += longest;
    for (size_t cut = 0; cut <= n && (longest || best == SIZE_MAX); cut++)
        if (matches(pattern, suffix ? value + n - cut : value, cut))
            best = cut;
    size_t cut = best == SIZE_MAX ? 0 : best;
    buf_add(out, suffix ? value : value + cut, n - cut);
}

// Replaces the first, longest match of the pattern, or all matches.
static void replace(const char *pattern, const char *with, bool all, const char *value, buf *out)
{
    size_t n = strlen(value), at = 0;
    bool done = false;
    while (at < n) {
        size_t len = done ? 0 : n - at;
        while (len && !matches(pattern, value + at, len))
            len--;
        if (len)
            buf_str(out, with);
        else
            buf_char(out, value[at]);
        at += len ? len : 1;
        done = done || (len && !all);
    }
}

static int must_be_set(const char *name, bool unset, const char *word, bool empty, err *e)
{
    return err_set(e, ERR_INVALID, "%s: %s", str_short(name, 60).text,
        *word   ? str_short(word, 200).text
        : unset ? "is not allowed to be unset"
        : empty ? "is not allowed to be empty"
                : "");
}

// The part after the name in "${NAME…}": an operator, with a word that ends at "}".
static int modify(struct lexer *x, const char *name, err *e, buf *out)
{
    bool colon = peek(x) == ':';
    x->p += colon;
    char kind = peek(x);
    if (at_end(x) || !strchr(colon ? "-+?" : "-+?#%/", kind))
        return err_set(e, ERR_INVALID, "${%s%.*s…} is not known", str_short(name, 60).text,
            1 + colon, x->p - colon);
    x->p++;
    bool all = kind == '/' && peek(x) == '/';
    x->p += all;
    AUTO_BUF word = {0}, with = {0};
    bool raw = strchr("#%/", kind);
    if (lex(x, kind == '/' ? '/' : '}', raw, &word, e) != 0 ||
        (kind == '/' && lex(x, '}', true, &with, e) != 0))
        return -1;
    const char *value = value_of(x, name), *text = buf_cstr(&word);
    bool set = value && (!colon || *value);
    if (kind == '?' && !set)
        return must_be_set(name, !value, text, colon, e);
    if (kind == '+' ? set : kind == '-' && !set)
        return buf_add(out, text, strlen(text)), 0;
    if (kind == '+' || !value)
        return 0;
    if (!raw)
        return put(x, name, value, out, e);
    AUTO_BUF changed = {0};
    if (kind == '/')
        replace(text, buf_cstr(&with), all, value, &changed);
    else
        trim(text, kind == '%', value, &changed);
    return put(x, name, buf_cstr(&changed), out, e);
}

static int dollar(struct lexer *x, buf *out, err *e)
{
    const char *from = x->p++;
    bool braces = peek(x) == '{';
    x->p += braces;
    if (braces && (at_end(x) || strchr("{}:", peek(x))))
        return err_set(e, ERR_INVALID, "“%s” is no variable", str_short(from, 60).text);
    AUTO_FREE char *name = take_name(x);
    if (!braces && !*name)
        return buf_char(out, '$'), 0;
    if (!braces || peek(x) == '}') {
        x->p += braces;
        return put(x, name, value_of(x, name), out, e);
    }
    if (at_end(x))
        return err_set(
            e, ERR_INVALID, "“%s” is no variable: its } is missing", str_short(from, 60).text);
    if (x->depth >= DEPTH)
        return err_set(e, ERR_INVALID, "variables stand in each other more than %d deep", DEPTH);
    x->depth++;
    int status = modify(x, name, e, out);
    x->depth--;
    return status;
}

static int quoted(struct lexer *x, buf *out, err *e)
{
    char quote = *x->p++;
    while (!at_end(x) && *x->p != quote) {
        bool escapes = *x->p == x->escape && quote == '"';
        if (*x->p == '$' && quote == '"') {
            if (dollar(x, out, e) != 0)
                return -1;
            continue;
        }
        if (escapes && (x->p + 1 == x->end || strchr("\"$", x->p[1]) || x->p[1] == x->escape))
            x->p++;
        if (!at_end(x))
            buf_char(out, *x->p++);
    }
    if (at_end(x))
        return err_set(e, ERR_INVALID, "a quote is not closed");
    x->p++;
    return 0;
}

// Expands up to the end, or to after `stop`. raw: keeps escapes, for a pattern.
static int lex(struct lexer *x, char stop, bool raw, buf *out, err *e)
{
    while (!at_end(x)) {
        char c = *x->p;
        int status = 0;
        if (stop && c == stop) {
            x->p++;
            return 0;
        }
        if (c == '\'' || c == '"')
            status = quoted(x, out, e);
        else if (c == '$')
            status = dollar(x, out, e);
        else {
            if (c == x->escape) {
                if (raw)
                    buf_char(out, c);
                x->p++; // an escape at the very end is dropped
            }
            if (!at_end(x))
                buf_char(out, *x->p++);
        }
        if (status != 0)
            return -1;
    }
    return stop ? err_set(e, ERR_INVALID, "a %c is missing behind ${…", stop) : 0;
}

char *dockerfile_text(const char *text, struct dockerfile_values *values, err *e)
{
    AUTO_BUF out = {0};
    struct lexer x = {values, text, text + strlen(text), values->escape ? values->escape : '\\', 0};
    return lex(&x, '\0', false, &out, e) == 0 ? mem_strdup(buf_cstr(&out)) : NULL;
}

// The end of the word at p: a blank that is neither in quotes nor escaped.
static const char *word_end(const char *p, char escape)
{
    char quote = '\0';
    for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
        if (*p == escape && quote != '\'') {
            if (!p[1])
                return p + 1;
            p++;
        } else if (quote)
            quote = *p == quote ? '\0' : quote;
        else if (*p == '"' || *p == '\'')
            quote = *p;
    }
    return p;
}

char **dockerfile_split(const char *text, char escape)
{
    size_t n = 0, room = 1;
    char **words = mem_array(room, sizeof *words);
    for (const char *p = text;; n++) {
        while (isspace((unsigned char)*p))
            p++;
        if (n + 1 >= room)
            words = mem_resize(words, room = 2 * room + 2, sizeof *words);
        words[n] = NULL;
        if (!*p)
            return words;
        const char *end = word_end(p, escape ? escape : '\\');
        words[n] = mem_strndup(p, (size_t)(end - p));
        p = end;
    }
}

int dockerfile_words(const char *text, struct dockerfile_values *values, char ***words, err *e)
{
    char **raw = dockerfile_split(text, values->escape);
    *words = raw;
    for (; *raw; raw++) {
        char *one = dockerfile_text(*raw, values, e);
        if (!one) {
            strv_free(STEAL(*words));
            return -1;
        }
        free(*raw);
        *raw = one;
    }
    return 0;
}
