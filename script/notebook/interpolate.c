// SPDX-License-Identifier: MIT
// IPython's $NAME and {expr} in shell lines, turned into a Lua expression. It is compiled at the
// line's place, so it sees the cell's locals.
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <string.h>

void lua_quote(const char *s, size_t n, buf *out)
{
    buf_char(out, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            buf_fmt(out, "\\%c", c);
        else if (c == '\n')
            buf_str(out, "\\n");
        else if (c < 0x20 || c == 0x7f)
            buf_fmt(out, "\\%03d", c);
        else
            buf_char(out, (char)c);
    }
    buf_char(out, '"');
}

static bool is_keyword(const char *s, size_t n)
{
    static const char *const words[] = {"break", "do", "else", "elseif", "end", "for", "function",
        "goto", "if", "in", "local", "repeat", "return", "then", "until", "while", "and", "or",
        "not", "nil", "true", "false"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strlen(words[i]) == n && !memcmp(words[i], s, n))
            return true;
    return false;
}

static size_t name_length(const char *s, size_t n)
{
    if (n == 0 || !(isalpha((unsigned char)*s) || *s == '_'))
        return 0;
    size_t i = 1;
    while (i < n && (isalnum((unsigned char)s[i]) || s[i] == '_'))
        i++;
    return i;
}

static bool is_word(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && !memcmp(s, word, n);
}

static size_t string_length(const char *s, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (s[i] == '\\')
            i++;
        else if (s[i] == *s)
            return i + 1;
    }
    return 0;
}

static size_t operator_length(const char *s, size_t n)
{
    static const char *const operators[] = {"..", "//", "==", "~=", "<=", ">=", "<<", ">>", "+",
        "-", "*", "/", "%", "^", "<", ">", "&", "|", "~"};
    for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
        size_t len = strlen(operators[i]);
        if (len <= n && !memcmp(s, operators[i], len))
            return len;
    }
    return 0;
}

// Is it a Lua expression: operands and operators in turn, all brackets closed? The shell's own
// braces ("{print $1}", "{a,b}", "{1..3}") are none, and stay as they are.
struct reading {
    const char *p, *end;
    char open[16]; // brackets that are open
    int depth;
    bool operand; // does an operand come next?
};

static bool read_operand(struct reading *r)
{
    size_t left = (size_t)(r->end - r->p), n;
    if (*r->p == '-' || *r->p == '#' || *r->p == '~') {
        r->p++;
        return true;
    }
    if (*r->p == '(' && r->depth < (int)sizeof r->open) {
        r->open[r->depth++] = *r->p++;
        return true;
    }
    if ((n = name_length(r->p, left))) {
        bool constant =
            is_word(r->p, n, "nil") || is_word(r->p, n, "true") || is_word(r->p, n, "false");
        bool negation = is_word(r->p, n, "not");
        if (is_keyword(r->p, n) && !constant && !negation)
            return false;
        r->operand = negation;
    } else if (isdigit((unsigned char)*r->p)) {
        while (
            n < left && (isalnum((unsigned char)r->p[n]) || (r->p[n] == '.' && r->p[n + 1] != '.')))
            n++;
        if (n + 1 < left && r->p[n] == '.') // "1..3" is not a number in Lua either
            return false;
        r->operand = false;
    } else if (*r->p == '"' || *r->p == '\'') {
        n = string_length(r->p, left);
        r->operand = false;
    }
    r->p += n;
    return n > 0;
}

static bool close_bracket(struct reading *r)
{
    char open = *r->p++ == ')' ? '(' : '[';
    return r->depth > 0 && r->open[--r->depth] == open;
}

static bool read_operator(struct reading *r)
{
    size_t left = (size_t)(r->end - r->p), n = name_length(r->p, left);
    r->operand = true;
    if (*r->p == ')' || *r->p == ']') {
        r->operand = false;
        return close_bracket(r);
    }
    if ((*r->p == '(' || *r->p == '[') && r->depth < (int)sizeof r->open) {
        r->open[r->depth++] = *r->p++;
        if (r->p < r->end && r->p[-1] == '(' && *r->p == ')') {
            r->operand = false;
            return close_bracket(r);
        }
        return true;
    }
    if (*r->p == ',' && r->depth > 0) {
        r->p++;
        return true;
    }
    if ((*r->p == '.' && left > 1 && r->p[1] != '.') || *r->p == ':') {
        r->p++;
        return r->p < r->end && name_length(r->p, left - 1) > 0;
    }
    bool word = is_word(r->p, n, "and") || is_word(r->p, n, "or");
    if (n && !word)
        return false;
    if (!n)
        n = operator_length(r->p, left);
    r->p += n;
    return n > 0;
}

static bool is_expression(const char *s, size_t n)
{
    struct reading r = {.p = s, .end = s + n, .operand = true};
    for (;;) {
        while (r.p < r.end && (*r.p == ' ' || *r.p == '\t'))
            r.p++;
        if (r.p == r.end)
            return !r.operand && r.depth == 0;
        const char *before = r.p;
        if (!(r.operand ? read_operand(&r) : read_operator(&r)) || r.p == before)
            return false;
    }
}

// The length of "{expr}" at s, 0 if there is none.
static size_t braced(const char *s, size_t n)
{
    const char *close = memchr(s, '}', n);
    return close && is_expression(s + 1, (size_t)(close - s - 1)) ? (size_t)(close + 1 - s) : 0;
}

static void join(buf *lua, buf *literal)
{
    if (!literal->len)
        return;
    if (lua->len)
        buf_str(lua, " .. ");
    lua_quote(literal->data, literal->len, lua);
    buf_clear(literal);
}

bool interpolate(const char *text, size_t n, buf *lua)
{
    AUTO_BUF literal = {0}, out = {0};
    bool any = false;
    for (size_t i = 0; i < n;) {
        size_t left = n - i, len;
        const char *s = text + i;
        bool twice = left > 1 && s[1] == *s;
        if (*s == '$' && left > 1 && s[1] == '{') { // the shell's ${NAME}
            const char *close = memchr(s, '}', left);
            len = close ? (size_t)(close + 1 - s) : 2;
            buf_add(&literal, s, len);
        } else if (twice && (*s == '$' || *s == '{' || *s == '}')) {
            buf_char(&literal, *s);
            len = 2;
        } else if (*s == '$' && (len = name_length(s + 1, left - 1)) && !is_keyword(s + 1, len)) {
            join(&out, &literal);
            buf_fmt(&out, "%sfiresteel.magic.var(\"%.*s\", %.*s)", out.len ? " .. " : "", (int)len,
                s + 1, (int)len, s + 1);
            len++;
            any = true;
        } else if (*s == '{' && (len = braced(s, left))) {
            join(&out, &literal);
            buf_fmt(&out, "%stostring(%.*s)", out.len ? " .. " : "", (int)len - 2, s + 1);
            any = true;
        } else {
            buf_char(&literal, *s);
            len = 1;
        }
        i += len;
    }
    join(&out, &literal);
    buf_str(lua, out.len ? out.data : "\"\"");
    return any;
}
