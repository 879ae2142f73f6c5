// SPDX-License-Identifier: MIT
#include "script/journal/html_plain.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool at_line_start(const buf *out)
{
    return !out->len || out->data[out->len - 1] == '\n';
}

static void trim_blanks(buf *out)
{
    while (out->len && out->data[out->len - 1] == ' ')
        out->len--;
}

// At most one empty line, and none at the beginning.
static void end_line(buf *out)
{
    trim_blanks(out);
    size_t n = out->len;
    if (n && !(n > 1 && out->data[n - 1] == '\n' && out->data[n - 2] == '\n'))
        buf_char(out, '\n');
}

static const struct {
    const char *name, *words;
} entities[] = {
    {"lt;", "<"}, {"gt;", ">"}, {"amp;", "&"}, {"quot;", "\""}, {"apos;", "'"}, {"nbsp;", " "}};

// Appends the text of an entity at an "&"; returns how many bytes of HTML that was.
static size_t entity(const char *s, buf *out)
{
    char *end, bytes[4];
    for (size_t i = 0; i < ARRAY_LEN(entities); i++)
        if (str_starts(s + 1, entities[i].name)) {
            buf_str(out, entities[i].words);
            return 1 + strlen(entities[i].name);
        }
    bool hex = s[1] == '#' && (s[2] | 0x20) == 'x';
    const char *digits = s + (hex ? 3 : 2);
    if (s[1] == '#' && isxdigit((unsigned char)*digits)) {
        unsigned long point = strtoul(digits, &end, hex ? 16 : 10);
        if (*end == ';') {
            if (point >= ' ' && point <= 0x10FFFF)
                buf_add(out, bytes, utf8_encode((uint32_t)point, bytes));
            return (size_t)(end + 1 - s);
        }
    }
    buf_char(out, '&');
    return 1;
}

static bool is_tag(const char *name, const char *tag)
{
    size_t n = strlen(tag);
    return strncasecmp(name, tag, n) == 0 && !isalnum((unsigned char)name[n]);
}

// Scripts and styles are no text.
static const char *behind_code(const char *s, const char *tag)
{
    while ((s = strstr(s, "</")) && !is_tag(s + 2, tag))
        s += 2;
    return s;
}

static void space_of(const char *name, bool closes, buf *out)
{
    static const char *const blocks[] = {
        "p", "div", "tr", "li", "table", "h1", "h2", "h3", "h4", "h5", "h6"};
    bool ends = is_tag(name, "br");
    for (size_t i = 0; i < ARRAY_LEN(blocks); i++)
        ends = ends || (closes && is_tag(name, blocks[i]));
    if (ends)
        end_line(out);
    else if (closes && (is_tag(name, "td") || is_tag(name, "th")))
        buf_str(out, "  ");
    else if (!closes && is_tag(name, "li"))
        buf_str(out, "- ");
}

// Handles a tag or a comment at a "<"; returns where the HTML continues.
static const char *tag(const char *s, buf *out)
{
    bool closes = s[1] == '/', comment = str_starts(s, "<!--");
    const char *name = s + 1 + closes, *end = NULL;
    if (!comment && !isalpha((unsigned char)*name) && *name != '!') {
        buf_char(out, '<');
        return s + 1;
    }
    if (!closes && is_tag(name, "script"))
        end = behind_code(s, "script");
    else if (!closes && is_tag(name, "style"))
        end = behind_code(s, "style");
    else
        end = s;
    end = end ? strstr(end, comment ? "-->" : ">") : NULL;
    space_of(name, closes, out);
    return end ? end + (comment ? 3 : 1) : s + strlen(s);
}

void html_plain(const char *s, buf *out)
{
    while (*s) {
        if (*s == '<') {
            s = tag(s, out);
        } else if (*s == '&') {
            s += entity(s, out);
        } else if (isspace((unsigned char)*s)) {
            if (!at_line_start(out) && out->data[out->len - 1] != ' ')
                buf_char(out, ' ');
            s++;
        } else {
            buf_char(out, *s++);
        }
    }
    while (out->len && isspace((unsigned char)out->data[out->len - 1]))
        out->len--;
}
