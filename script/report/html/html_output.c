// SPDX-License-Identifier: MIT
#include "script/report/html/html_output.h"

#include "base/clock.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/jupyter.h"
#include "script/journal/text.h"
#include "script/report/html/html_charts.h"
#include "script/report/html/html_text.h"
#include "script/report/page/page_display.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LINES_OPEN = 30, // the most lines of an output that are shown; of more, all but the last
                     // LINES_TAIL are folded
    LINES_TAIL = 10,
    ROWS_OPEN = 50, // of a table
    SHOWN_DIGITS = 6,
};

static void lines(const char *class, const char *bytes, size_t n, buf *out)
{
    struct html_lines *l = html_lines_new(bytes, n);
    size_t count = html_lines_count(l), folded = count > LINES_OPEN ? count - LINES_TAIL : 0;
    if (folded) {
        buf_fmt(out,
            "<details><summary>%zu lines; all but the last %d</summary>\n<pre class=\"%s\">", count,
            LINES_TAIL, class);
        html_lines_print(l, 0, folded, out);
        buf_str(out, "</pre></details>\n");
    }
    if (count) {
        buf_fmt(out, "<pre class=\"%s\">", class);
        html_lines_print(l, folded, count, out);
        buf_str(out, "</pre>\n");
    }
    html_lines_free(l);
}

static int stream(
    const struct output *o, const char *class, const struct html_source *from, buf *out, err *e)
{
    AUTO_BUF bytes = {0};
    if (output_bytes(o, from->spool_dir, from->limit, &bytes, e) < 0)
        return -1;
    lines(class, buf_cstr(&bytes), bytes.len, out);
    return 0;
}

// The frames of a traceback; those of another language may have colours.
static void traceback(const cJSON *trace, buf *out)
{
    const cJSON *entry;
    AUTO_BUF text = {0};
    cJSON_ArrayForEach(entry, trace)
    {
        buf_str(&text, cJSON_IsString(entry) ? entry->valuestring : "");
        buf_char(&text, '\n');
    }
    struct html_lines *l = html_lines_new(buf_cstr(&text), text.len);
    buf_str(out, "<details><summary>traceback</summary><pre>");
    html_lines_print(l, 0, html_lines_count(l), out);
    buf_str(out, "</pre></details>");
    html_lines_free(l);
}

static void error(const struct output *o, buf *out)
{
    int64_t line = json_int_or(o->data, "line", 0);
    buf_str(out, "<div class=\"error\"><p><b>");
    html_string(out, o->name);
    if (line)
        buf_fmt(out, "</b>, line %lld:</p>\n<pre>", (long long)line);
    else
        buf_str(out, "</b>:</p>\n<pre>");
    html_string(out, o->text);
    buf_str(out, "</pre>");
    const cJSON *trace = json_get(o->data, "traceback");
    if (trace && trace->child)
        traceback(trace, out);
    buf_str(out, "</div>\n");
}

// Is it a number (digits, signs, a unit)? Then it is aligned right.
static bool is_number(const char *text)
{
    const char *p = text + strspn(text, "+-");
    return isdigit((unsigned char)*p) && strspn(p, "0123456789.,eE+-%_ ") == strlen(p);
}

static void entry(const char *tag, const cJSON *value, int64_t now, buf *out)
{
    AUTO_BUF text = {0};
    if (value)
        tabletext_entry(value, now, &text);
    buf_fmt(out, "<%s%s>", tag, is_number(buf_cstr(&text)) ? " class=\"n\"" : "");
    html_string(out, buf_cstr(&text));
    buf_fmt(out, "</%s>", tag);
}

static void row(const cJSON *columns, const cJSON *r, int width, int64_t now, buf *out)
{
    buf_fmt(out, "<tr%s>", json_int_or(r, "sick", 0) > 0 ? " class=\"sick\"" : "");
    for (int i = 0; i < width; i++) {
        const cJSON *column = columns ? cJSON_GetArrayItem(columns, i) : NULL;
        entry("td", tabletext_cell(r, column, i), now, out);
    }
    buf_str(out, "</tr>\n");
}

static void table_head(const cJSON *columns, buf *out)
{
    const cJSON *column;
    if (!columns || !columns->child)
        return;
    buf_str(out, "<thead><tr>");
    cJSON_ArrayForEach(column, columns)
    {
        buf_str(out, "<th>");
        html_string(out, tabletext_column(column));
        buf_str(out, "</th>");
    }
    buf_str(out, "</tr></thead>\n");
}

void html_table(const cJSON *t, bool live, buf *out)
{
    size_t n;
    const cJSON *columns = json_get(t, "columns");
    AUTO_FREE const cJSON **rows = tabletext_rows(t, &n);
    int width = page_table_width(t, rows, n);
    int64_t now = tabletext_now(t, live, clock_wall());
    AUTO_BUF below = {0};
    if (n > ROWS_OPEN)
        buf_fmt(out, "<details><summary>a table of %zu rows</summary>\n", n);
    buf_str(out, "<div class=\"wide\"><table>\n");
    if (json_str(t, "title")) {
        buf_str(out, "<caption>");
        html_string(out, json_str(t, "title"));
        buf_str(out, "</caption>");
    }
    table_head(columns, out);
    buf_str(out, "<tbody>\n");
    for (size_t i = 0; i < n; i++)
        row(columns, rows[i], width, now, out);
    buf_fmt(out, "</tbody></table></div>\n%s", n > ROWS_OPEN ? "</details>\n" : "");
    page_table_below(t, &below);
    if (below.len) {
        buf_str(out, "<p class=\"note\">");
        html_string(out, buf_cstr(&below));
        buf_str(out, "</p>\n");
    }
}

static void metrics_line(const cJSON *metrics, buf *out)
{
    const cJSON *m;
    cJSON_ArrayForEach(m, metrics)
    {
        buf_str(out, " <span class=\"metric\">");
        html_string(out, m->string);
        double number;
        if (json_number(m, &number))
            buf_fmt(out, " <b>%.*g</b></span>", SHOWN_DIGITS, number);
        else
            buf_str(out, "</span>");
    }
}

static void progress(const cJSON *p, buf *out)
{
    double done = html_number(json_get(p, "done")), total = html_number(json_get(p, "total"));
    buf_str(out, "<p class=\"progress\">");
    html_string(out, json_str(p, "label"));
    if (isfinite(done) && isfinite(total) && total > 0)
        buf_fmt(out, " <progress max=\"%.15g\" value=\"%.15g\"></progress> %.15g of %.15g", total,
            done, done, total);
    metrics_line(json_get(p, "metrics"), out);
    if (json_get(p, "evaluated"))
        buf_str(out, " evaluated:");
    metrics_line(json_get(p, "evaluated"), out);
    buf_str(out, "</p>\n");
    html_training(p, out);
}

// A log's text has only its last lines; this shows all of it.
static int log_output(const cJSON *log, const struct html_source *from, buf *out, err *e)
{
    struct output all = {.kind = OUTPUT_STREAM, .spool = (char *)json_str(log, "spool")};
    all.from = (uint64_t)json_int_or(log, "from", 0);
    all.to = (uint64_t)json_int_or(log, "to", 0);
    buf_str(out, "<p class=\"note\">");
    html_string(out, json_str_or(log, "title", "log"));
    if (json_str(log, "note")) {
        buf_str(out, ": ");
        html_string(out, json_str(log, "note"));
    }
    buf_str(out, "</p>\n");
    return all.to > all.from ? stream(&all, "log", from, out, e) : 0;
}

// The width and the height that a program has said for a picture.
static void image_size(const cJSON *data, const char *type, buf *out)
{
    static const char *const names[] = {"width", "height"};
    const cJSON *said = json_get(json_get(data, JUPYTER_METADATA), type);
    int64_t pixels;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (json_int(json_get(said, names[i]), &pixels) && pixels > 0)
            buf_fmt(out, " %s=\"%lld\"", names[i], (long long)pixels);
}

static bool image(const cJSON *data, buf *out)
{
    static const char *const types[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        const char *text = json_str(data, types[i]);
        if (!text)
            continue;
        buf_fmt(out, "<img src=\"data:%s;base64,", types[i]);
        for (; *text; text++)
            if (isalnum((unsigned char)*text) || strchr("+/=", *text))
                buf_char(out, *text);
        buf_str(out, "\" alt=\"");
        html_string(out, json_str_or(data, "text/plain", "image"));
        buf_char(out, '"');
        image_size(data, types[i], out);
        buf_str(out, ">\n");
        return true;
    }
    const char *svg = json_str(data, "image/svg+xml");
    if (!svg)
        return false;
    buf_str(out, "<img src=\"data:image/svg+xml;base64,"); // as an image it runs and asks nothing
    base64_encode(out, svg, strlen(svg));
    buf_str(out, "\" alt=\"\">\n");
    return true;
}

static bool document(const cJSON *data, buf *out)
{
    const char *html = json_str(data, "text/html"), *markdown = json_str(data, "text/markdown");
    const cJSON *json = json_get(data, "application/json");
    if (html) { // in a frame that can run nothing and request nothing
        buf_str(out, "<iframe sandbox srcdoc=\"");
        html_string(out, html);
        buf_str(out, "\"></iframe>\n");
    } else if (markdown) {
        html_markdown(out, markdown, strlen(markdown));
    } else if (json) {
        AUTO_BUF text = {0};
        json_print_pretty(&text, json, 2);
        lines("json", buf_cstr(&text), text.len, out);
    }
    return html || markdown || json;
}

static int display(const struct output *o, const struct html_source *from, buf *out, err *e)
{
    const cJSON *t = page_table(o->data), *log = json_get(o->data, PAGE_KIND("log"));
    const cJSON *p = json_get(o->data, PAGE_KIND("plot")),
                *bar = json_get(o->data, PAGE_KIND("progress"));
    if (bar)
        progress(bar, out);
    if (t)
        html_table(t, o->live, out);
    else if (p)
        html_plot(p, out);
    else if (log && json_str(log, "spool"))
        return log_output(log, from, out, e);
    else if (!bar && !image(o->data, out) && !document(o->data, out)) {
        const char *text = json_str_or(o->data, "text/plain", "");
        lines(o->result ? "result" : "display", text, strlen(text), out);
    }
    return 0;
}

int html_output(const struct output *o, const struct html_source *from, buf *out, err *e)
{
    if (o->kind == OUTPUT_DISPLAY)
        return display(o, from, out, e);
    if (o->kind == OUTPUT_STREAM)
        return stream(o, str_eq(o->name, "stderr") ? "stderr" : "stdout", from, out, e);
    error(o, out);
    return 0;
}
