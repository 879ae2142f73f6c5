// SPDX-License-Identifier: MIT
#include "base/text/markdown.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { BARS_MAX = 128, LINKS_MAX = 8, OPEN_MAX = 128 }; // OPEN_MAX: "<" of a line that begin no tag

bool markdown_has_many_bars(const char *s, size_t n)
{
    size_t bars = 0;
    for (size_t i = 0; i < n && bars <= BARS_MAX; i++)
        bars = s[i] == '\n' ? 0 : bars + (s[i] == '|');
    return bars > BARS_MAX;
}

struct plain {
    buf out;
    char fence; // of the code block that is open, 0: none
    size_t fence_n;
    bool comment; // inside <!-- -->
    bool html;    // the line before was one of tags: the next one's indentation is no code
    bool bars;    // the line before may be the head of a table
    char *links[LINKS_MAX]; // of <a> that are open; NULL: without href
    size_t n_links;
};

// A tag at `text`: its name and its attributes.
struct tag {
    char name[16];
    bool closes;
    const char *attributes, *end; // end: behind '>'
};

static bool read_tag(const char *p, const char *end, struct tag *t)
{
    size_t n = 0;
    char quote = 0;
    *t = (struct tag){.closes = ++p < end && *p == '/'};
    p += t->closes;
    while (p < end && isalnum((unsigned char)*p) && n + 1 < sizeof t->name)
        t->name[n++] = (char)tolower((unsigned char)*p++);
    if (!n || p == end || !(isspace((unsigned char)*p) || *p == '>' || *p == '/'))
        return false;
    for (t->attributes = p; p < end && (quote || *p != '>'); p++)
        quote = quote ? (*p == quote ? 0 : quote) : *p == '"' || *p == '\'' ? *p : 0;
    t->end = p + 1;
    return p < end;
}

// The value of an attribute; new, NULL: it has none.
static char *attribute(const struct tag *t, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = t->attributes; p + n < t->end - 1; p++) {
        if (strncasecmp(p, name, n) != 0 || !isspace((unsigned char)p[-1]))
            continue;
        const char *value = p + n;
        while (value < t->end - 1 && isspace((unsigned char)*value))
            value++;
        if (*value++ != '=')
            continue;
        while (value < t->end - 1 && isspace((unsigned char)*value))
            value++;
        char quote = *value == '"' || *value == '\'' ? *value : 0;
        value += quote != 0;
        const char *stop = value;
        while (stop < t->end - 1 && (quote ? *stop != quote : !isspace((unsigned char)*stop)))
            stop++;
        return mem_strndup(value, (size_t)(stop - value));
    }
    return NULL;
}

// What stands in the target of a link has no blanks and brackets.
static void put_target(buf *out, const char *target)
{
    for (const char *p = target; *p; p++)
        if (strchr(" ()<>\\\"", *p))
            buf_fmt(out, "%%%02X", (unsigned)(unsigned char)*p);
        else
            buf_char(out, *p);
}

static void put_words(buf *out, const char *words)
{
    for (const char *p = words; *p; p++)
        if (!strchr("[]\n", *p))
            buf_char(out, *p);
}

static void put_image(struct plain *m, const struct tag *t)
{
    AUTO_FREE char *src = attribute(t, "src");
    AUTO_FREE char *alt = attribute(t, "alt");
    const char *name = src ? strrchr(src, '/') : NULL;
    if (!src)
        return;
    buf_str(&m->out, "![");
    put_words(&m->out, alt && *alt                ? alt
                       : str_starts(src, "data:") ? "image"
                       : name                     ? name + 1
                                                  : src);
    buf_str(&m->out, "](");
    put_target(&m->out, src);
    buf_char(&m->out, ')');
}

static void close_link(struct plain *m)
{
    if (!m->n_links)
        return;
    AUTO_FREE char *target = m->links[--m->n_links];
    if (!target)
        return;
    buf_str(&m->out, "](");
    put_target(&m->out, target);
    buf_char(&m->out, ')');
}

static void put_link(struct plain *m, const struct tag *t)
{
    if (t->closes) {
        close_link(m);
    } else if (m->n_links < LINKS_MAX) {
        char *href = attribute(t, "href");
        m->links[m->n_links++] = href;
        buf_str(&m->out, href ? "[" : "");
    }
}

// A mark of Markdown stands directly at its words.
static void put_mark(
    struct plain *m, const struct tag *t, const char *mark, const char **p, const char *end)
{
    while (t->closes && m->out.len && m->out.data[m->out.len - 1] == ' ')
        m->out.len--;
    buf_str(&m->out, mark);
    while (!t->closes && *p < end && **p == ' ')
        ++*p;
}

static bool is_table_row(const char *line, const char *end)
{
    return memchr(line, '|', (size_t)(end - line)) != NULL;
}

// Appends what a tag means; false: it means nothing here, and stands as it is. *p: behind it.
static bool put_tag(struct plain *m, const char *line, const char **p, const char *end)
{
    static const struct {
        const char *name, *mark;
    } marks[] = {{"b", "**"}, {"strong", "**"}, {"i", "*"}, {"em", "*"}, {"code", "`"},
        {"kbd", "`"}, {"tt", "`"}, {"s", "~~"}, {"del", "~~"}};
    static const char *const dropped[] = {"p", "div", "center", "span", "font", "sup", "sub", "u",
        "small", "big", "table", "tr", "thead", "tbody", "ul", "ol", "dl", "details", "section",
        "article", "header", "footer", "figure", "figcaption", "picture", "source", "mark", "abbr",
        "hr", "ins", "nav"};
    struct tag t;
    if (!read_tag(*p, end, &t))
        return false;
    bool first = m->out.len == 0 || strchr("\n\r", m->out.data[m->out.len - 1]);
    *p = t.end;
    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        if (str_eq(t.name, marks[i].name))
            return put_mark(m, &t, marks[i].mark, p, end), true;
    if (str_eq(t.name, "img"))
        return put_image(m, &t), true;
    if (str_eq(t.name, "a"))
        return put_link(m, &t), true;
    if (str_eq(t.name, "br")) // a line break that counts as no line: md4c knows CR
        return buf_str(&m->out, is_table_row(line, end) ? " " : *p == end ? "  " : "  \r"), true;
    if (str_eq(t.name, "summary"))
        return buf_str(&m->out, "**"), true;
    if (str_eq(t.name, "td") || str_eq(t.name, "th"))
        return buf_str(&m->out, t.closes ? " " : ""), true;
    if (str_eq(t.name, "li"))
        return buf_str(&m->out, t.closes ? "" : "- "), true;
    if (t.name[0] == 'h' && t.name[1] >= '1' && t.name[1] <= '6' && !t.name[2]) {
        for (char i = '0'; !t.closes && first && i < t.name[1]; i++)
            buf_char(&m->out, '#');
        return buf_str(&m->out, !t.closes && first ? " " : ""), true;
    }
    for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
        if (str_eq(t.name, dropped[i]))
            return true;
    return false;
}

// `code` and ``code``: as it stands, if it ends in this line.
static size_t code_span(const char *p, const char *end)
{
    size_t n = strspn(p, "`");
    for (const char *q = p + n; q < end;) {
        size_t run = strspn(q, "`");
        if (run == n)
            return (size_t)(q + run - p);
        q += run ? run : 1;
    }
    return n;
}

// Each "<" that begins no tag is looked for to the end of the line, so only so many are.
static void put_line(struct plain *m, const char *line, const char *end)
{
    size_t failed = 0;
    for (const char *p = line; p < end;) {
        const char *from = p;
        if (m->comment) {
            const char *close = memmem(p, (size_t)(end - p), "-->", 3);
            m->comment = !close;
            p = close ? close + 3 : end;
            continue;
        }
        size_t n = *p == '`' ? code_span(p, end) : *p == '\\' && p + 1 < end ? 2 : 1;
        if (*p == '<' && end - p >= 4 && memcmp(p, "<!--", 4) == 0) {
            m->comment = true;
            p += 4;
        } else if (*p != '<' || failed > OPEN_MAX || !put_tag(m, line, &p, end)) {
            failed += *from == '<';
            p = from + n;
            buf_add(&m->out, from, n);
        }
    }
}

// ":-|--" with a bar in it and nothing else.
static bool is_delimiter_row(const char *line, const char *end)
{
    bool bar = false, dash = false;
    for (const char *p = line; p < end; p++) {
        if (!strchr("|-: \t", *p))
            return false;
        bar = bar || *p == '|';
        dash = dash || *p == '-';
    }
    return bar && dash;
}

static void put_delimiter_row(struct plain *m, const char *line, const char *end)
{
    for (const char *p = line; p < end;) {
        size_t n = strspn(p, "-");
        for (size_t k = n; n && k < 3; k++)
            buf_char(&m->out, '-');
        n += !n;
        buf_add(&m->out, p, n);
        p += n;
    }
}

// Returns the character of the fence that this line is, ` or ~, and sets its length. 0: the line is
// not a fence.
static char fence_of(const char *line, const char *end, size_t *n)
{
    const char *p = line + strspn(line, " ");
    *n = p < end && (*p == '`' || *p == '~') ? strspn(p, *p == '`' ? "`" : "~") : 0;
    bool code =
        *n >= 3 && p - line <= 3 && !(*p == '`' && memchr(p + *n, '`', (size_t)(end - p) - *n));
    return code ? *p : 0;
}

static void put_any(struct plain *m, const char *line, const char *end)
{
    size_t n, indent = strspn(line, " \t");
    char fence = fence_of(line, end, &n);
    bool blank = line + indent >= end, tags = !blank && line[indent] == '<';
    if (m->fence) {
        bool bare = fence == m->fence && n >= m->fence_n && line[indent + n] == '\n';
        m->fence = bare || (fence == m->fence && line + indent + n >= end) ? 0 : m->fence;
        buf_add(&m->out, line, (size_t)(end - line));
        return;
    }
    if (fence) {
        m->fence = fence;
        m->fence_n = n;
        buf_add(&m->out, line, (size_t)(end - line));
    } else if (m->bars && is_delimiter_row(line, end)) {
        put_delimiter_row(m, line, end);
    } else if (indent >= 4 && !m->html && !m->comment) {
        buf_add(&m->out, line, (size_t)(end - line));
        tags = false;
    } else {
        put_line(m, tags || m->html ? line + indent : line, end);
    }
    while (blank && m->n_links)
        close_link(m);
    m->html = !blank && (tags || m->html);
    m->bars = is_table_row(line, end);
}

static void put_text(struct plain *m, const char *text, size_t n)
{
    AUTO_FREE char *own = mem_dup_text(text, n); // it may have NULs
    for (const char *line = own, *stop = own + n; line < stop;) {
        const char *end = memchr(line, '\n', (size_t)(stop - line));
        put_any(m, line, end ? end : stop);
        if (end)
            buf_char(&m->out, '\n');
        line = end ? end + 1 : stop;
    }
    while (m->n_links)
        close_link(m);
}

char *markdown_open_fence(const char *text, size_t n)
{
    struct plain m = {0};
    put_text(&m, text, n);
    buf_done(&m.out);
    if (!m.fence)
        return NULL;
    char *fence = mem_alloc(m.fence_n + 2);
    memset(fence + 1, m.fence, m.fence_n);
    *fence = '\n';
    return fence;
}

char *markdown_plain(const char *text, size_t n)
{
    struct plain m = {0};
    put_text(&m, text, n);
    return m.out.data ? buf_take(&m.out) : mem_strdup("");
}
