// SPDX-License-Identifier: MIT
#include "script/report/markdown_output.h"

#include "base/clock.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "script/journal/text.h"
#include "script/report/page/page_display.h"

#include <ctype.h>
#include <string.h>

void md_fenced(const char *language, const char *text, size_t n, buf *out)
{
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < n; i++) {
        run = text[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    AUTO_BUF fence = {0};
    for (size_t i = 0; i <= longest; i++)
        buf_char(&fence, '`');
    buf_fmt(out, "%s%s\n", fence.data, language);
    buf_add(out, text, n);
    buf_fmt(out, "%s%s\n\n", n && text[n - 1] != '\n' ? "\n" : "", fence.data);
}

// An underscore within a word is no emphasis.
static bool is_markup(const char *text, size_t i)
{
    bool inside =
        i > 0 && isalnum((unsigned char)text[i - 1]) && isalnum((unsigned char)text[i + 1]);
    return text[i] == '_' ? !inside : strchr("\\|`*~[]<&$", text[i]) != NULL;
}

void md_entry(buf *out, const char *text)
{
    for (size_t i = 0; text[i]; i++) {
        if (is_markup(text, i))
            buf_char(out, '\\');
        buf_char(out, strchr("\r\n", text[i]) ? ' ' : text[i]);
    }
}

// Leaves out columns that are shown only where there is room.
static void table_row(const cJSON *columns, const cJSON *row, int width, int64_t now, buf *out)
{
    for (int i = 0; i < width; i++) {
        const cJSON *column = cJSON_GetArrayItem(columns, i);
        AUTO_BUF text = {0};
        if (tabletext_is_wide(column))
            continue;
        if (row)
            tabletext_entry(tabletext_cell(row, column, i), now, &text);
        buf_str(out, "| ");
        md_entry(out, row ? buf_cstr(&text) : tabletext_column(column));
        buf_char(out, ' ');
    }
    buf_str(out, "|\n");
}

static void table_rule(const cJSON *columns, int width, buf *out)
{
    for (int i = 0; i < width; i++) {
        const cJSON *column = cJSON_GetArrayItem(columns, i);
        if (!tabletext_is_wide(column))
            buf_str(out, tabletext_is_right(column) ? "|---:" : "|---");
    }
    buf_str(out, "|\n");
}

// Each of the lines below a table is a paragraph.
static void table_below(const cJSON *t, buf *out)
{
    AUTO_BUF below = {0};
    page_table_below(t, &below);
    for (char *rest = below.data, *line; (line = strsep(&rest, "\n"));) {
        if (!*line)
            continue;
        md_entry(out, line);
        buf_str(out, "\n\n");
    }
}

static void table(const cJSON *t, bool live, buf *out)
{
    size_t n;
    const cJSON *columns = json_get(t, "columns");
    AUTO_FREE const cJSON **rows = tabletext_rows(t, &n);
    int width = page_table_width(t, rows, n);
    int64_t now = tabletext_now(t, live, clock_wall());
    if (width) {
        table_row(columns, NULL, width, now, out);
        table_rule(columns, width, out);
    }
    for (size_t i = 0; width && i < n; i++)
        table_row(columns, rows[i], width, now, out);
    buf_str(out, width ? "\n" : "");
    table_below(t, out);
}

// A display with a form in Markdown; false: it is printed as text. HTML of other programs in an
// .ipynb is printed as its text.
static bool display(const struct export *x, const struct output *o, buf *out)
{
    const cJSON *t = page_table(o->data);
    const char *markdown = json_str(o->data, "text/markdown");
    const char *html = fold_run(x->fold) ? json_str(o->data, "text/html") : NULL;
    if (o->kind != OUTPUT_DISPLAY || !(t || html || markdown))
        return false;
    if (t)
        table(t, o->live, out);
    else if (html)
        md_fenced("html", html, strlen(html), out);
    else
        buf_fmt(out, "%s\n\n", markdown);
    return true;
}

static void flush(buf *text, buf *out)
{
    if (text->len)
        md_fenced("text", text->data, text->len, out);
    buf_clear(text);
}

// Adjacent outputs of text share a fence.
void md_outputs(struct export *x, const struct run_cell *c, buf *out)
{
    AUTO_BUF text = {0};
    for (size_t k = 0; c && k < c->n_outputs; k++) {
        AUTO_BUF shown = {0};
        output_heading(c, k, &text);
        if (!display(x, &c->outputs[k], &shown)) {
            output_text(&c->outputs[k], x->spool_dir, x->limit, &text, &x->failure);
            continue;
        }
        flush(&text, out);
        buf_add(out, buf_cstr(&shown), shown.len);
    }
    flush(&text, out);
}
