// SPDX-License-Identifier: MIT
// The views' key tables are well formed, and doc/workbench.md contains them unchanged.
#include "base/os/path.h"
#include "tests/support/tap.h"
#include "tui/bench/views.h"
#include "tui/view/help/tasks.h"

#include <stdlib.h>
#include <string.h>

TEST(tables_are_well_formed)
{
    const struct keymap *maps[] = {&notebook_keys, page_view_ops.keys, help_view_ops.keys,
        prompt_view_ops.keys, ask_view_ops.keys, &scroll_keys, &line_keys, table_view_ops.keys,
        chart_view_ops.keys, pick_view_ops.keys, leave_view_ops.keys, conflict_view_ops.keys,
        complete_view_ops.keys, inspect_view_ops.keys, &time_keys, runs_view_ops.keys,
        survey_view_ops.keys, form_view_ops.keys, file_view_ops.keys, compare_view_ops.keys,
        removal_view_ops.keys, confirm_view_ops.keys, outline_view_ops.keys, problem_view_ops.keys,
        marks_view_ops.keys, replace_view_ops.keys};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        AUTO_BUF why = {0};
        keymap_check(maps[i], &why);
        CHECK_STR(buf_cstr(&why), "");
    }
}

TEST(help_by_task_names_keys_and_lines_that_are_there)
{
    size_t i = 0;
    for (; task_nth(i); i++) {
        AUTO_BUF why = {0}, words = {0};
        CHECK(task_check(i, &why));
        CHECK_STR(buf_cstr(&why), "");
        task_text(NULL, i, &words);
        CHECK(!strchr(buf_cstr(&words), '@'));
    }
    CHECK(i > 20);
}

// Replaces the page's text between the first table's title and its end by `keys`.
static void write_page(const buf *page, const buf *keys)
{
    err e = {0};
    AUTO_BUF out = {0};
    const char *words = buf_cstr(page), *from = strstr(words, "\n### Among cells");
    buf_add(&out, words, from ? (size_t)(from - words) : page->len);
    buf_str(&out, buf_cstr(keys));
    CHECK_OK(path_write(tap_source("doc/workbench.md"), out.data, out.len, 0644, &e) == 0, e);
}

TEST(the_page_has_the_keys_as_they_are)
{
    AUTO_BUF page = {0}, keys = {0};
    err e = {0};
    bench_document_keys(&keys);
    CHECK_OK(path_read(tap_source("doc/workbench.md"), &page, 0, &e) == 0, e);
    if (getenv("FIRESTEEL_WRITE"))
        write_page(&page, &keys);
    else if (!strstr(buf_cstr(&page), buf_cstr(&keys)))
        tap_fail(__FILE__, __LINE__,
            "doc/workbench.md is old: FIRESTEEL_WRITE=1 test-tui-keys writes its tables");
}

int main(void)
{
    return tap_run();
}
