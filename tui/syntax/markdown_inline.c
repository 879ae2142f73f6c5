// SPDX-License-Identifier: MIT
// What stands within a line of Markdown. First it is cut into tokens, then runs of * and _ find
// their partners, then what is left is written with the styles that are open.
//
//   a **b *c* d**   ─>   [a ][**][b ][*][c][*][ d][**]
//                             └──────│───────────│─ strong
//                                    └─ emphasis ┘
#include "base/mem.h"
#include "base/text/utf8.h"
#include "tui/syntax/styled.h"
#include "tui/syntax/syntax.h"

#include <ctype.h>
#include <string.h>

enum { RUNS = 32, STACK = 64 };

enum kind { TOKEN_TEXT, TOKEN_CODE, TOKEN_MARKS, TOKEN_LINK, TOKEN_TARGET };
struct token {
    enum kind kind;
    size_t from, to;
    char mark;          // MARKS: '*' or '_'
    bool opens, closes; // may they?
    // How many styles begin and end here; [from, to) is what is left of the marks
    unsigned char em_on, em_off, strong_on, strong_off;
};
struct reader {
    const char *s;
    size_t n, at;
    struct token *tokens;
    size_t count, cap;
    size_t link_end;     // of the link's text that is open, 0: none
    bool no_ticks[RUNS]; // no run of that length is ahead
    bool no_url;         // no ")" is ahead
};

static struct token *push(struct reader *r, enum kind kind, size_t from, size_t to)
{
    struct token *last = r->count ? &r->tokens[r->count - 1] : NULL;
    if (kind == TOKEN_TEXT && last && last->kind == TOKEN_TEXT && last->to == from) {
        last->to = to;
        return last;
    }
    if (r->count == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 32;
        r->tokens = mem_resize(r->tokens, r->cap, sizeof *r->tokens);
    }
    r->tokens[r->count] = (struct token){.kind = kind, .from = from, .to = to};
    return &r->tokens[r->count++];
}

static size_t run_at(const struct reader *r, size_t at)
{
    size_t n = 1;
    while (at + n < r->n && r->s[at + n] == r->s[at])
        n++;
    return n;
}

static void code(struct reader *r)
{
    size_t ticks = run_at(r, r->at), at = r->at + ticks;
    bool hopeless = ticks >= RUNS || r->no_ticks[ticks];
    while (!hopeless && at < r->n) {
        size_t n = r->s[at] == '`' ? run_at(r, at) : 1;
        if (r->s[at] == '`' && n == ticks) {
            push(r, TOKEN_CODE, r->at + ticks, at);
            r->at = at + n;
            return;
        }
        at += n;
    }
    if (ticks < RUNS)
        r->no_ticks[ticks] = true;
    push(r, TOKEN_TEXT, r->at, r->at + ticks);
    r->at += ticks;
}

static size_t find(const struct reader *r, size_t at, char c)
{
    const char *found = at < r->n ? memchr(r->s + at, c, r->n - at) : NULL;
    return found ? (size_t)(found - r->s) : r->n;
}

// "[text](target)": the brackets of a text are its own when none opens within.
static bool link(struct reader *r, size_t bracket)
{
    size_t end = bracket + 1;
    while (end < r->n && r->s[end] != ']' && r->s[end] != '[')
        end++;
    if (r->link_end || end + 1 >= r->n || r->s[end] != ']' || r->s[end + 1] != '(')
        return false;
    if (r->no_url || find(r, end, ')') == r->n) {
        r->no_url = true;
        return false;
    }
    push(r, TOKEN_LINK, bracket, bracket);
    r->link_end = end;
    r->at = bracket + 1;
    return true;
}

static void link_end(struct reader *r)
{
    size_t from = r->at + 2, to = find(r, from, ')');
    push(r, TOKEN_TARGET, from, to);
    r->at = to + 1;
    r->link_end = 0;
}

// "<https://…>"
static bool autolink(struct reader *r)
{
    size_t end = r->at + 1;
    while (end < r->n && !isspace((unsigned char)r->s[end]) && r->s[end] != '>' &&
           r->s[end] != '<' && end - r->at < 2000)
        end++;
    AUTO_FREE char *word = mem_strndup(r->s + r->at, end - r->at);
    if (end >= r->n || r->s[end] != '>' || !strstr(word, "://") || r->link_end)
        return false;
    push(r, TOKEN_LINK, r->at, r->at);
    push(r, TOKEN_TEXT, r->at + 1, end);
    push(r, TOKEN_TARGET, end, end);
    r->at = end + 1;
    return true;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static void marks(struct reader *r)
{
    size_t n = run_at(r, r->at), end = r->at + n;
    char before = r->at ? r->s[r->at - 1] : ' ', after = end < r->n ? r->s[end] : ' ';
    bool inside = r->s[r->at] == '_' && is_word(before) && is_word(after); // snake_case
    struct token *t = push(r, TOKEN_MARKS, r->at, end);
    t->mark = r->s[r->at];
    t->opens = !isspace((unsigned char)after) && !inside;
    t->closes = !isspace((unsigned char)before) && !inside;
    r->at = end;
}

static void cut(struct reader *r)
{
    while (r->at < r->n) {
        char c = r->s[r->at], next = r->at + 1 < r->n ? r->s[r->at + 1] : '\0';
        if (r->link_end && r->at == r->link_end) {
            link_end(r);
        } else if (c == '\\' && ispunct((unsigned char)next)) {
            push(r, TOKEN_TEXT, r->at + 1, r->at + 2);
            r->at += 2;
        } else if (c == '`' && !r->link_end) {
            code(r);
        } else if (c == '*' || c == '_') {
            marks(r);
        } else if ((c == '[' && link(r, r->at)) || (c == '<' && autolink(r)) ||
                   (c == '!' && next == '[' && link(r, r->at + 1))) {
            continue;
        } else {
            size_t n = grapheme_len(r->s + r->at, r->n - r->at);
            push(r, TOKEN_TEXT, r->at, r->at + n);
            r->at += n;
        }
    }
}

static size_t left(const struct token *t)
{
    return t->to - t->from;
}

// Marks are used up from the inside of a pair, two of them for strong.
static void pair(struct token *open, struct token *close)
{
    while (left(open) && left(close)) {
        size_t n = left(open) >= 2 && left(close) >= 2 ? 2 : 1;
        if (open->em_on + open->strong_on > 200 || close->em_off + close->strong_off > 200)
            return;
        open->to -= n;
        close->from += n;
        *(n == 2 ? &open->strong_on : &open->em_on) += 1;
        *(n == 2 ? &close->strong_off : &close->em_off) += 1;
    }
}

static void match(struct reader *r, char mark)
{
    size_t stack[STACK], depth = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct token *t = &r->tokens[i];
        if (t->mark != mark)
            continue;
        while (t->closes && left(t) && depth) {
            struct token *open = &r->tokens[stack[depth - 1]];
            pair(open, t);
            if (left(open))
                break;
            depth--;
        }
        if (t->opens && left(t) && depth < STACK)
            stack[depth++] = i;
    }
}

static style look(style base, int em, int strong, bool in_link)
{
    if (em > 0)
        base = style_over(base, syntax_style(CLASS_EMPHASIS));
    if (strong > 0)
        base = style_over(base, syntax_style(CLASS_STRONG));
    return in_link ? style_over(base, syntax_style(CLASS_LINK)) : base;
}

static void write_code(struct styled *out, const char *s, size_t n, style base)
{
    if (n > 2 && s[0] == ' ' && s[n - 1] == ' ') // "`` `a` ``"
        s++, n -= 2;
    styled_add(out, s, n, style_over(base, syntax_style(CLASS_CODE)));
}

static void write_target(struct styled *out, const char *s, size_t n, style base)
{
    static const style dim = {.attrs = ATTR_DIM};
    if (!n)
        return;
    styled_add(out, " (", 2, style_over(base, dim));
    styled_add(out, s, n, style_over(base, dim));
    styled_add(out, ")", 1, style_over(base, dim));
}

static void write(const struct reader *r, struct styled *out, style base)
{
    int em = 0, strong = 0;
    bool in_link = false;
    for (size_t i = 0; i < r->count; i++) {
        const struct token *t = &r->tokens[i];
        em -= t->em_off;
        strong -= t->strong_off;
        style now = look(base, em, strong, in_link);
        if (t->kind == TOKEN_CODE)
            write_code(out, r->s + t->from, t->to - t->from, now);
        else if (t->kind == TOKEN_LINK)
            in_link = true;
        else if (t->kind == TOKEN_TARGET) {
            in_link = false;
            write_target(out, r->s + t->from, t->to - t->from, base);
        } else
            styled_add(out, r->s + t->from, t->to - t->from, now);
        em += t->em_on;
        strong += t->strong_on;
    }
}

void styled_markdown(struct styled *s, const char *words, size_t n, style base)
{
    struct reader r = {.s = words, .n = n};
    cut(&r);
    match(&r, '*');
    match(&r, '_');
    write(&r, s, base);
    free(r.tokens);
}
