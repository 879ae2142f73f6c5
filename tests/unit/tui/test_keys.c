// SPDX-License-Identifier: MIT
// The key tables of the views: well formed, and doc/workbench.md has them as they are.
#include "base/path.h"
#include "tests/support/tap.h"
#include "tui/view/view.h"

TEST(tables_are_well_formed)
{
    const struct keymap *maps[] = {&notebook_keys, page_view_ops.keys, help_view_ops.keys,
        prompt_view_ops.keys, ask_view_ops.keys, &scroll_keys, &line_keys, table_view_ops.keys,
        chart_view_ops.keys, pick_view_ops.keys};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        AUTO_BUF why = {0};
        CHECK(keymap_check(maps[i], &why));
        CHECK_STR(buf_cstr(&why), "");
    }
}

TEST(the_page_has_the_keys_as_they_are)
{
    AUTO_BUF page = {0}, keys = {0};
    err e = {0};
    bench_document_keys(&keys);
    CHECK_OK(path_read(WORKBENCH_PAGE, &page, 0, &e) == 0, e);
    CHECK_HAS(buf_cstr(&page), buf_cstr(&keys));
}

int main(void)
{
    return tap_run();
}
