// SPDX-License-Identifier: MIT
// Converts Markdown, as md4c parses it, to HTML, tag by tag.
#include "base/mem.h"
#include "base/str.h"
#include "base/text/markdown.h"
#include "base/text/utf8.h"
#include "script/report/html/html_text.h"

#include <md4c.h>
#include <string.h>

struct page {
    buf *out;
    int images; // inside an image's text
};

static void simple(struct page *p, bool open, const char *tag)
{
    buf_fmt(p->out, open ? "<%s>" : "</%s>", tag);
}

static char *attribute(const MD_ATTRIBUTE *a)
{
    return mem_strndup(a->text ? a->text : "", a->text ? a->size : 0);
}

// Is the address a link to a page or a place, and not code that would run?
static bool is_link(const char *address)
{
    static const char *const schemes[] = {"http://", "https://", "mailto:"};
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (strncasecmp(address, schemes[i], strlen(schemes[i])) == 0)
            return true;
    size_t name = strcspn(address, ":/?#");
    return address[name] != ':';
}

static void open_link(struct page *p, const MD_ATTRIBUTE *address)
{
    AUTO_FREE char *to = attribute(address);
    if (!is_link(to)) {
        buf_str(p->out, "<a>");
        return;
    }
    buf_str(p->out, "<a rel=\"noreferrer\" href=\"");
    html_string(p->out, to);
    buf_str(p->out, "\">");
}

// An image elsewhere becomes a link: the page makes no requests.
static void open_image(struct page *p, const MD_SPAN_IMG_DETAIL *image)
{
    AUTO_FREE char *from = attribute(&image->src);
    if (p->images++)
        return;
    if (!str_starts(from, "data:image/")) {
        open_link(p, &image->src);
        return;
    }
    buf_str(p->out, "<img src=\"");
    html_string(p->out, from);
    buf_str(p->out, "\" alt=\"");
}

static void close_image(struct page *p, const MD_SPAN_IMG_DETAIL *image)
{
    AUTO_FREE char *from = attribute(&image->src);
    if (--p->images)
        return;
    buf_str(p->out, str_starts(from, "data:image/") ? "\">" : "</a>");
}

// Headings of cells are h2; those in a text begin below the page's own.
static void heading(struct page *p, bool open, unsigned level)
{
    unsigned at = level < 5 ? level + 1 : 6;
    buf_fmt(p->out, open ? "<h%u>" : "</h%u>\n", at);
}

static void list(struct page *p, bool open, unsigned start)
{
    if (open && start != 1)
        buf_fmt(p->out, "<ol start=\"%u\">", start);
    else
        simple(p, open, "ol");
}

static void item(struct page *p, bool open, const MD_BLOCK_LI_DETAIL *detail)
{
    simple(p, open, "li");
    if (open && detail->is_task)
        buf_str(p->out, strchr("xX", detail->task_mark) ? "☑ " : "☐ ");
}

static void entry(struct page *p, bool open, const char *tag, MD_ALIGN align)
{
    if (open && align == MD_ALIGN_RIGHT)
        buf_fmt(p->out, "<%s class=\"n\">", tag);
    else
        simple(p, open, tag);
}

static void block(struct page *p, bool open, MD_BLOCKTYPE type, void *detail)
{
    static const char *const tags[] = {[MD_BLOCK_QUOTE] = "blockquote",
        [MD_BLOCK_UL] = "ul",
        [MD_BLOCK_P] = "p",
        [MD_BLOCK_TABLE] = "table",
        [MD_BLOCK_THEAD] = "thead",
        [MD_BLOCK_TBODY] = "tbody",
        [MD_BLOCK_TR] = "tr"};
    if (type == MD_BLOCK_H)
        heading(p, open, ((MD_BLOCK_H_DETAIL *)detail)->level);
    else if (type == MD_BLOCK_OL)
        list(p, open, ((MD_BLOCK_OL_DETAIL *)detail)->start);
    else if (type == MD_BLOCK_LI)
        item(p, open, detail);
    else if (type == MD_BLOCK_TH || type == MD_BLOCK_TD)
        entry(p, open, type == MD_BLOCK_TH ? "th" : "td", ((MD_BLOCK_TD_DETAIL *)detail)->align);
    else if (type == MD_BLOCK_CODE)
        buf_str(p->out, open ? "<pre><code>" : "</code></pre>\n");
    else if (type == MD_BLOCK_HR && open)
        buf_str(p->out, "<hr>\n");
    else if (type < ARRAY_LEN(tags) && tags[type])
        simple(p, open, tags[type]);
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    block(arg, true, type, detail);
    return 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct page *p = arg;
    block(p, false, type, detail);
    if (type == MD_BLOCK_P || type == MD_BLOCK_TR || type == MD_BLOCK_LI)
        buf_char(p->out, '\n');
    return 0;
}

static void span(struct page *p, bool open, MD_SPANTYPE type)
{
    static const char *const tags[] = {[MD_SPAN_EM] = "em",
        [MD_SPAN_STRONG] = "strong",
        [MD_SPAN_CODE] = "code",
        [MD_SPAN_DEL] = "del"};
    if (type == MD_SPAN_LATEXMATH || type == MD_SPAN_LATEXMATH_DISPLAY)
        buf_str(p->out, type == MD_SPAN_LATEXMATH ? "$" : "$$"); // a formula stays as it is
    else if (!p->images && type < ARRAY_LEN(tags) && tags[type])
        simple(p, open, tags[type]);
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct page *p = arg;
    if (type == MD_SPAN_IMG)
        open_image(p, detail);
    else if (type == MD_SPAN_A && !p->images)
        open_link(p, &((MD_SPAN_A_DETAIL *)detail)->href);
    else
        span(p, true, type);
    return 0;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct page *p = arg;
    if (type == MD_SPAN_IMG)
        close_image(p, detail);
    else if (type == MD_SPAN_A && !p->images)
        buf_str(p->out, "</a>");
    else
        span(p, false, type);
    return 0;
}

// md4c has checked that it is a name or a number. A number may stand for any character.
static void entity(buf *out, const char *text, size_t n)
{
    AUTO_FREE char *copy = mem_strndup(text, n);
    bool hex = str_starts(copy, "&#x") || str_starts(copy, "&#X");
    if (!str_starts(copy, "&#")) {
        buf_add(out, text, n);
        return;
    }
    char bytes[4];
    unsigned long point = strtoul(copy + (hex ? 3 : 2), NULL, hex ? 16 : 10);
    size_t length = utf8_encode(point && point < 0x110000 ? (uint32_t)point : 0xfffd, bytes);
    html_escape(out, bytes, length);
}

static int add_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE n, void *arg)
{
    struct page *p = arg;
    if (type == MD_TEXT_BR)
        buf_str(p->out, p->images ? " " : "<br>\n");
    else if (type == MD_TEXT_SOFTBR)
        buf_char(p->out, '\n');
    else if (type == MD_TEXT_NULLCHAR)
        buf_str(p->out, UTF8_REPLACEMENT);
    else if (type == MD_TEXT_ENTITY)
        entity(p->out, text, n);
    else
        html_escape(p->out, text, n);
    return 0;
}

void html_markdown(buf *out, const char *source, size_t source_n)
{
    AUTO_FREE char *text = markdown_plain(source, source_n);
    size_t n = strlen(text);
    struct page page = {.out = out};
    MD_PARSER parser = {.flags = MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_NOHTML |
                                 MD_FLAG_LATEXMATHSPANS,
        .enter_block = enter_block,
        .leave_block = leave_block,
        .enter_span = enter_span,
        .leave_span = leave_span,
        .text = add_text};
    parser.flags |= markdown_has_many_bars(text, n) ? 0 : MD_FLAG_TABLES;
    buf_str(out, "<div class=\"text\">\n");
    if (md_parse(text, (MD_SIZE)n, &parser, &page) != 0)
        mem_out(n); // nothing else fails
    buf_str(out, "</div>\n");
}
