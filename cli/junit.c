// SPDX-License-Identifier: MIT
#include "cli/junit.h"

#include "base/clock.h"
#include "base/str.h"
#include "script/journal/text.h"

// Escapes text and attribute values; XML 1.0 cannot contain other control characters.
static void escaped(const char *s, buf *out)
{
    for (; *s; s++) {
        switch (*s) {
        case '&':
            buf_str(out, "&amp;");
            break;
        case '<':
            buf_str(out, "&lt;");
            break;
        case '>':
            buf_str(out, "&gt;");
            break;
        case '"':
            buf_str(out, "&quot;");
            break;
        default:
            if ((unsigned char)*s >= 0x20 || *s == '\n' || *s == '\t')
                buf_char(out, *s);
        }
    }
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static const struct output *error_of(const struct run_cell *c)
{
    for (size_t i = c->n_outputs; i-- > 0;)
        if (c->outputs[i].kind == OUTPUT_ERROR)
            return &c->outputs[i];
    return NULL;
}

static void print_case(const fold *f, const cell *doc, size_t i, const char *spool_dir, buf *out)
{
    const struct run_cell *c = fold_cell_by_id(f, doc->id, NULL);
    AUTO_BUF name = {0}, text = {0};
    notebook_cell_name(fold_notebook(f), i, &name);
    buf_str(out, "  <testcase classname=\"");
    escaped(fold_run(f) ? fold_run(f) : "", out);
    buf_str(out, "\" name=\"");
    escaped(name.data, out);
    buf_fmt(out, "\" time=\"%.3f\">\n", c && c->ended ? seconds(c->mono_end - c->mono_start) : 0.0);
    const struct output *error = c ? error_of(c) : NULL;
    if (c && c->state == STATE_FAILED) {
        buf_str(out, "    <failure message=\"");
        escaped(error ? error->text : "", out);
        buf_str(out, "\">");
        if (error)
            output_text(error, spool_dir, 0, &text, NULL);
        escaped(buf_cstr(&text), out);
        buf_str(out, "</failure>\n");
    } else if (!c || c->state != STATE_OK) {
        buf_str(out, "    <skipped/>\n");
    }
    AUTO_BUF output = {0};
    for (size_t k = 0; c && k < c->n_outputs; k++)
        if (c->outputs[k].kind != OUTPUT_ERROR)
            output_text(&c->outputs[k], spool_dir, 0, &output, NULL);
    if (output.len) {
        buf_str(out, "    <system-out>");
        escaped(output.data, out);
        buf_str(out, "</system-out>\n");
    }
    buf_str(out, "  </testcase>\n");
}

void junit_print(const fold *f, const char *spool_dir, buf *out)
{
    const notebook *nb = fold_notebook(f);
    size_t tests = 0, failures = 0, skipped = 0;
    for (size_t i = 0; i < notebook_count(nb); i++) {
        const struct run_cell *c = fold_cell_by_id(f, notebook_cell(nb, i)->id, NULL);
        if (notebook_cell(nb, i)->kind != CELL_CODE)
            continue;
        tests++;
        failures += c && c->state == STATE_FAILED;
        skipped += !c || (c->state != STATE_FAILED && c->state != STATE_OK);
    }
    AUTO_BUF when = {0};
    clock_rfc3339(&when, fold_started(f), CLOCK_SECONDS);
    buf_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"");
    escaped(fold_run(f) ? fold_run(f) : "", out);
    buf_fmt(out,
        "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\" time=\"%.3f\" "
        "timestamp=\"%s\">\n",
        tests, failures, skipped, seconds(fold_duration(f)), when.data);
    for (size_t i = 0; i < notebook_count(nb); i++)
        if (notebook_cell(nb, i)->kind == CELL_CODE)
            print_case(f, notebook_cell(nb, i), i, spool_dir, out);
    buf_str(out, "</testsuite>\n");
}
