// SPDX-License-Identifier: MIT
#include "script/notebook/others/rules.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is_language(const struct rules *r, const char *name)
{
    return strcasecmp(r->language, name) == 0;
}

void quotes_begin(quotes *q, const struct rules *r)
{
    *q = (quotes){.mark = r->mark, .off = is_language(r, "R")};
}

// One line at a time, since a text of one quote ends with its line.
void quotes_feed(quotes *q, const char *line, size_t n)
{
    const char *end = line + n, *opened = line - 1;
    char single = 0;
    if (q->off || (!q->triple && bytes_start(bytes_after_space(line, end), end, q->mark)))
        return;
    for (const char *p = line; p < end; p++) {
        if (!single && !q->triple && bytes_start(p, end, q->mark))
            return;
        if ((*p != '"' && *p != '\'') || (p > line && p[-1] == '\\'))
            continue;
        if (single) {
            single = single == *p ? 0 : single;
        } else if (p - line >= 2 && p[-1] == *p && p[-2] == *p && p >= opened + 3) {
            if (q->triple && q->triple != *p)
                continue;
            q->triple = q->triple ? 0 : *p;
            opened = p;
        } else if (!q->triple) {
            single = *p;
        }
    }
}

static const char *after_marks(const char *p, const char *end, const char *mark)
{
    while (bytes_start(p, end, mark)) {
        p += strlen(mark);
        p += p < end && *p == ' ';
    }
    return p;
}

// "%name", with up to three "%".
static bool is_percent(const char *p, const char *end)
{
    int n = 0;
    while (p < end && *p == '%' && n < 3)
        p++, n++;
    return n > 0 && p < end && isalpha((unsigned char)*p);
}

// Does the line end in a comment with this word ("# escape")?
static bool has_comment(const char *p, const char *end, const char *mark, const char *word)
{
    for (; p < end; p++)
        if (bytes_start(p, end, mark) &&
            bytes_start(bytes_after_space(p + strlen(mark), end), end, word))
            return true;
    return false;
}

static bool is_shell_or_help(const char *p, const char *end)
{
    p = bytes_after_space(after_marks(bytes_after_space(p, end), end, "#"), end);
    if (p == end || (*p != '?' && *p != '!'))
        return false;
    p = bytes_after_space(p + 1, end);
    return p < end && (isalpha((unsigned char)*p) || strchr(".~$\\/{}", *p));
}

// "name = %magic", "name = !command"
static bool is_assignment(const char *p, const char *end)
{
    p = bytes_after_space(after_marks(p, end, "#"), end);
    if (p == end || !(isalpha((unsigned char)*p) || *p == '_'))
        return false;
    while (p < end && (isalnum((unsigned char)*p) || *p == '_' || *p == '$'))
        p++;
    p = bytes_after_space(p, end);
    if (p == end || *p != '=')
        return false;
    p = bytes_after_space(p + 1, end);
    return is_percent(p, end) || (end - p >= 2 && *p == '!' && isalpha((unsigned char)p[1]));
}

// "name?", "name??"
static bool is_question(const char *p, const char *end)
{
    p = bytes_after_space(p, end);
    while (bytes_start(p, end, "# "))
        p += 2;
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    if (end == p || end[-1] != '?')
        return false;
    for (; p < end; p++)
        if (isspace((unsigned char)*p))
            return false;
    return true;
}

// "ls", "cd folder"; not "ls = 1" or "cp, x".
static bool is_command(const char *p, const char *end)
{
    static const char *const names[] = {"cat", "cd", "cp", "mv", "rm", "rmdir", "mkdir", "copy",
        "ddir", "echo", "ls", "ldir", "ren"};
    p = after_marks(p, end, "#");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *after = p + strlen(names[i]);
        if (!bytes_start(p, end, names[i]))
            continue;
        if (after == end || (isspace((unsigned char)*after) &&
                                (after + 1 == end || (after[1] != '=' && after[1] != ','))))
            return true;
    }
    return false;
}

static bool is_magic(const struct rules *r, const char *p, size_t n)
{
    static const char *const none[] = {"octave", "matlab", "sas", "jenner", "logtalk"};
    const char *end = p + n;
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        if (is_language(r, none[i]))
            return false;
    const char *bare = after_marks(p, end, r->mark);
    if (is_language(r, "rust"))
        return end - bare >= 2 && *bare == ':' && isalpha((unsigned char)bare[1]);
    if (is_language(r, "csharp") || is_language(r, "c#"))
        return end - bare >= 3 && bytes_start(bare, end, "#!") && isalpha((unsigned char)bare[2]);
    if (is_language(r, "go") && bytes_start(bare, end, "!"))
        return isalpha((unsigned char)bare[1 + (end - bare > 1 && bare[1] == '*')]);
    bool percent = is_percent(after_marks(bytes_after_space(p, end), end, r->mark), end);
    if (percent)
        return has_comment(p, end, r->mark, "escape") || !has_comment(p, end, r->mark, "noescape");
    return is_language(r, "python") && (is_shell_or_help(p, end) || is_assignment(p, end) ||
                                           is_question(p, end) || is_command(p, end));
}

static void comment_line(const struct rules *r, const char *line, size_t n, bool goes_on, buf *out)
{
    size_t indent = 0;
    while (!goes_on && indent < n && isspace((unsigned char)line[indent]))
        indent++;
    buf_add(out, line, indent);
    buf_fmt(out, "%s ", r->mark);
    buf_add(out, line + indent, n - indent);
}

static void uncomment_line(
    const struct rules *r, const char *line, size_t n, bool goes_on, buf *out)
{
    size_t indent = (size_t)(bytes_after_space(line, line + n) - line);
    (void)goes_on;
    buf_add(out, line, indent);
    line += indent, n -= indent;
    size_t mark = bytes_start(line, line + n, r->mark) ? strlen(r->mark) : 0;
    mark += mark && mark < n && line[mark] == ' ';
    buf_add(out, line + mark, n - mark);
}

static char *each_magic(const struct rules *r, const char *source,
    void (*fn)(const struct rules *r, const char *line, size_t n, bool goes_on, buf *out))
{
    quotes q;
    buf out = {0};
    bool goes_on = false; // a magic that ends in "\": the next line belongs to it
    quotes_begin(&q, r);
    for (const char *line = source;;) {
        size_t n = strcspn(line, "\n"), last = n;
        if (!q.triple && (goes_on || is_magic(r, line, n))) {
            fn(r, line, n, goes_on, &out);
            while (last && isspace((unsigned char)line[last - 1]))
                last--;
            goes_on = is_language(r, "python") && last && line[last - 1] == '\\';
        } else {
            buf_add(&out, line, n);
        }
        quotes_feed(&q, line, n);
        if (!line[n])
            break;
        buf_char(&out, '\n');
        line += n + 1;
    }
    return out.data ? buf_take(&out) : mem_strdup("");
}

char *rules_comment(const struct rules *r, const char *source)
{
    return each_magic(r, source, comment_line);
}

char *rules_uncomment(const struct rules *r, const char *source)
{
    return each_magic(r, source, uncomment_line);
}

// Lines of a text, one after the other.
struct walk {
    const char *at, *end, *line;
    size_t n;
};

static bool next_line(struct walk *w)
{
    if (w->at >= w->end)
        return false;
    const char *newline = memchr(w->at, '\n', (size_t)(w->end - w->at));
    w->line = w->at;
    w->n = (size_t)((newline ? newline : w->end) - w->at);
    w->at += w->n + (newline != NULL);
    w->n -= w->n && w->line[w->n - 1] == '\r';
    return true;
}

static bool is_blank(const struct walk *w)
{
    return bytes_after_space(w->line, w->line + w->n) == w->line + w->n;
}

static bool begins(const struct walk *w, const char *const *words)
{
    for (; *words; words++)
        if (bytes_start(w->line, w->line + w->n, *words))
            return true;
    return false;
}

static const char *const definitions[] = {"def ", "async ", "class ", NULL};

static bool begins_with_definition(const struct rules *r, struct walk w)
{
    static const char *const passed[] = {"#", "@", " ", ")", NULL};
    quotes q;
    bool before_blank = false;
    quotes_begin(&q, r);
    for (bool first = true; next_line(&w); first = false) {
        bool inside = q.triple, blank = is_blank(&w);
        quotes_feed(&q, w.line, w.n);
        if (!inside && blank && !first && before_blank)
            return false;
        before_blank = blank;
        if (inside || blank)
            continue;
        if (begins(&w, definitions))
            return true;
        if (!begins(&w, passed))
            return false;
    }
    return false;
}

// Looks at what would be found from the end on, while it goes forward.
static bool ends_with_definition(const struct rules *r, struct walk w)
{
    static const char *const passed[] = {"#", " ", ")", NULL};
    quotes q;
    bool definition = false;
    int blanks = 0;
    quotes_begin(&q, r);
    while (next_line(&w)) {
        bool inside = q.triple;
        quotes_feed(&q, w.line, w.n);
        if (inside)
            continue;
        if (is_blank(&w)) {
            blanks++;
            definition = definition && blanks < 2;
            continue;
        }
        blanks = 0;
        if (!begins(&w, passed))
            definition = begins(&w, definitions);
    }
    return definition;
}

static bool ends_with_code(struct walk w)
{
    struct walk last = {0};
    while (next_line(&w))
        last = w;
    return last.line && !is_blank(&last) && *last.line != '#';
}

static bool has_code(struct walk w)
{
    bool before_blank = false;
    for (bool first = true; next_line(&w); first = false) {
        const char *p = bytes_after_space(w.line, w.line + w.n);
        bool blank = p == w.line + w.n;
        if (blank && !first && before_blank)
            return false;
        before_blank = blank;
        if (!blank && *p != '#')
            return true;
    }
    return false;
}

int rules_blank_lines(
    const struct rules *r, const char *before, size_t n, const char *after, size_t after_n)
{
    struct walk was = {.at = before, .end = before + n},
                then = {.at = after, .end = after + after_n};
    if (!after_n || !is_language(r, "python"))
        return 1;
    if (ends_with_definition(r, was))
        return has_code(then) ? 2 : 1;
    return ends_with_code(was) && begins_with_definition(r, then) ? 2 : 1;
}
