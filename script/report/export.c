// SPDX-License-Identifier: MIT
#include "script/report/export.h"

#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "script/report/export_private.h"
#include "script/report/html/html.h"
#include "script/report/junit.h"

#include <string.h>

static const char *const names[] = {"ipynb", "md", "html", "junit"};
static const char *const ends[] = {".ipynb", ".md", ".html", ".xml"};

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
    } else if (format == EXPORT_JUNIT) {
        junit_print(f, spool_dir, &text);
        buf_add(out, text.data, text.len);
    } else {
        export_md(&x, &text);
        printable(out, text.data, text.len);
    }
    return x.failure.code ? err_set(e, x.failure.code, "%s", x.failure.text) : 0;
}
