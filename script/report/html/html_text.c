// SPDX-License-Identifier: MIT
#include "script/report/html/html_text.h"

#include "base/mem.h"
#include "base/printable.h"
#include "base/text/ansi.h"

#include <string.h>

void html_escape(buf *out, const char *text, size_t n)
{
    AUTO_BUF clean = {0};
    printable(&clean, text, n);
    for (const char *s = buf_cstr(&clean), *end = s + clean.len; s < end;) {
        size_t plain = strcspn(s, "<>&\"'");
        buf_add(out, s, plain);
        s += plain;
        if (s == end)
            break;
        buf_str(out, *s == '<'   ? "&lt;"
                     : *s == '>' ? "&gt;"
                     : *s == '&' ? "&amp;"
                     : *s == '"' ? "&quot;"
                                 : "&#39;");
        s++;
    }
}

void html_string(buf *out, const char *text)
{
    if (text)
        html_escape(out, text, strlen(text));
}

struct html_lines {
    ansi_text *text;
};

struct html_lines *html_lines_new(const char *bytes, size_t n)
{
    struct html_lines *l = mem_alloc(sizeof *l);
    l->text = ansi_text_new(0);
    ansi_text_feed(l->text, bytes, n);
    return l;
}

void html_lines_free(struct html_lines *l)
{
    if (l)
        ansi_text_free(l->text);
    free(l);
}

size_t html_lines_count(const struct html_lines *l)
{
    return ansi_text_lines(l->text);
}

// The first sixteen colours are classes, for which a dark page has its own values.
static void colour(buf *classes, buf *inline_, const char *what, const char *property, color c)
{
    if (!c)
        return;
    if (c >> 24 == 1 && (c & 255) < 16)
        buf_fmt(classes, " %s%u", what, c & 255);
    else
        buf_fmt(inline_, "%s:#%06x;", property, color_rgb(c));
}

static void open_span(buf *out, style st)
{
    static const struct {
        uint32_t attr;
        const char *class;
    } looks[] = {{ATTR_BOLD, " b"}, {ATTR_DIM, " d"}, {ATTR_ITALIC, " i"}, {ATTR_UNDERLINE, " u"},
        {ATTR_STRIKE, " k"}, {ATTR_REVERSE, " r"}};
    AUTO_BUF classes = {0}, inline_ = {0};
    for (size_t i = 0; i < ARRAY_LEN(looks); i++)
        if (st.attrs & looks[i].attr)
            buf_str(&classes, looks[i].class);
    colour(&classes, &inline_, "f", "color", st.fg);
    colour(&classes, &inline_, "g", "background", st.bg);
    buf_str(out, "<span");
    if (classes.len)
        buf_fmt(out, " class=\"%s\"", classes.data + 1);
    if (inline_.len)
        buf_fmt(out, " style=\"%s\"", inline_.data);
    buf_char(out, '>');
}

static void print_line(struct ansi_line line, buf *out)
{
    for (size_t i = 0; i < line.spans_n; i++) {
        struct ansi_span s = line.spans[i];
        bool plain = style_equal(s.style, (style){0});
        if (!plain)
            open_span(out, s.style);
        html_escape(out, line.text + s.from, s.to - s.from);
        if (!plain)
            buf_str(out, "</span>");
    }
}

void html_lines_print(const struct html_lines *l, size_t from, size_t to, buf *out)
{
    for (size_t i = from; i < to; i++) {
        print_line(ansi_text_line(l->text, i), out);
        buf_char(out, '\n');
    }
}
