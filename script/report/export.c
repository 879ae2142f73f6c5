// SPDX-License-Identifier: MIT
#include "script/report/export.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "script/journal/runs/lineage.h"
#include "script/report/export_private.h"
#include "script/report/html/html.h"
#include "script/report/junit.h"

#include <string.h>

static const char *const names[] = {"ipynb", "md", "html", "junit", "json"};
static const char *const ends[] = {".ipynb", ".md", ".html", ".xml", ".json"};

bool export_format(const char *name, enum export_format *format)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!str_eq(name, names[i]) && !str_ends(name, ends[i]))
            continue;
        *format = (enum export_format)i;
        return true;
    }
    return false;
}

static void add_time(cJSON *to, const char *name, int64_t wall)
{
    AUTO_BUF when = {0};
    clock_rfc3339(&when, wall, CLOCK_MICROS);
    json_set_str(to, name, buf_cstr(&when));
}

static void print_json(const fold *f, buf *out)
{
    AUTO_JSON *run = lineage_of(f);
    AUTO_JSON *results = fold_results(f);
    const cJSON *first = fold_first(f);
    const char *message = fold_message(f) ? fold_message(f)
                          : fold_error(f) ? fold_error(f)->text
                                          : NULL;
    if (fold_state(f) != RUN_RUNNING)
        add_time(run, "ended", fold_last(f));
    if (message)
        json_set_str(run, "message", message);
    static const char *const copied[][2] = {{"host", "host"}, {"cwd", "cwd"}, {"notebook", "text"}};
    for (size_t i = 0; i < ARRAY_LEN(copied); i++)
        if (json_str(first, copied[i][0]))
            json_set_str(run, copied[i][1], json_str(first, copied[i][0]));
    const char *language = notebook_language(fold_notebook(f));
    json_set_str(run, "language", language ? language : "lua");
    json_set(run, "metrics", cJSON_DetachItemFromObject(results, "metrics"));
    json_print(out, run);
    buf_char(out, '\n');
}

int export_run(
    const fold *f, const char *spool_dir, enum export_format format, size_t limit, buf *out, err *e)
{
    struct export x = {.fold = f, .spool_dir = spool_dir, .limit = limit};
    AUTO_BUF text = {0};
    if (format == EXPORT_IPYNB) {
        export_ipynb(&x, &text);
        printable_json(out, text.data, text.len);
    } else if (format == EXPORT_HTML) {
        html_print(f, spool_dir, limit, out, &x.failure);
    } else if (format == EXPORT_JSON) {
        print_json(f, &text);
        printable_json(out, text.data, text.len);
    } else if (format == EXPORT_JUNIT) {
        junit_print(f, spool_dir, &text);
        buf_add(out, text.data, text.len);
    } else {
        export_md(&x, &text);
        printable(out, text.data, text.len);
    }
    return x.failure.code ? err_set(e, x.failure.code, "%s", x.failure.text) : 0;
}
