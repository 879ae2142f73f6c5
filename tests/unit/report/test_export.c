// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "script/journal/file/reader.h"
#include "script/journal/file/spool.h"
#include "script/journal/text.h"
#include "script/report/export.h"
#include "tests/unit/journal/sample.h"

static fold *sample_fold(void)
{
    err e = {0};
    AUTO_FREE char *run = sample_write(), *file = journal_file(tap_dir(), run);
    fold *f = fold_file(file, NULL, &e);
    CHECK_OK(f, e);
    return f;
}

TEST(ipynb_has_the_outputs)
{
    fold *f = sample_fold();
    AUTO_BUF text = {0};
    err e = {0};
    CHECK_OK(export_run(f, NULL, EXPORT_IPYNB, 0, &text, &e) == 0, e);
    AUTO_JSON *j = json_parse(text.data, text.len, &e);
    CHECK_OK(j, e);
    CHECK_INT(json_int_or(j, "nbformat_minor", 0), 5);
    CHECK_STR(json_path_str(j, "cells[1].outputs[0].output_type"), "stream");
    CHECK_STR(json_path_str(j, "cells[1].outputs[0].text[2]"), "d\u00e9j\u00e0 vu\n");
    CHECK_STR(json_path_str(j, "cells[1].outputs[2].output_type"), "display_data");
    CHECK_STR(json_path_str(j, "cells[1].outputs[3].output_type"), "execute_result");
    CHECK_INT(json_int_or(json_path(j, "cells[1].outputs[3]"), "execution_count", 0), 1);
    CHECK_STR(json_path_str(j, "cells[2].outputs[0].evalue"), "no");
    CHECK_INT(json_int_or(json_path(j, "cells[2]"), "execution_count", 0), 2);
    notebook *nb = notebook_parse_ipynb(text.data, text.len, &e);
    CHECK_OK(nb, e);
    CHECK_STR(notebook_cell(nb, 1)->source, "print(1)");
    notebook_free(nb);
    fold_free(f);
}

TEST(markdown_reads_as_a_page)
{
    fold *f = sample_fold();
    AUTO_BUF text = {0};
    err e = {0};
    CHECK_OK(export_run(f, NULL, EXPORT_MD, 0, &text, &e) == 0, e);
    CHECK_HAS(text.data, "**failed**");
    CHECK_HAS(text.data, "`epochs = 3`");
    CHECK_HAS(text.data, "| 2 | ");
    CHECK_HAS(text.data, "# Sample\n\n### First\n\n```lua\nprint(1)\n```\n\n```text\n100%\n");
    CHECK_HAS(text.data, "| NAME | STATUS |\n|---|---|\n| pod-a | Running |\n\n");
    CHECK_HAS(text.data, "```text\n42\n```");
    CHECK_HAS(text.data, "- create Pod a\n");
    fold_free(f);
}

TEST(terminal_codes_settle)
{
    AUTO_BUF out = {0};
    static const char text[] = "a\r\nbar\rfoo\n\033[31mred\033[0m\033]0;title\a!\n\bx\n"
                               "b\033]0;cut off\nc\033[3\nd\r";
    text_settle(text, sizeof text - 1, &out);
    CHECK_STR(buf_cstr(&out), "a\nfoo\nred!\nx\nb\nc\nd");
    buf_clear(&out);
    static const char bars[] = "x: 0%\n\ry: 0%\033[A\rx: 9%\n\ry: 9%\033[A\n\n100%|██|\r9\n";
    text_settle(bars, sizeof bars - 1, &out);
    CHECK_STR(buf_cstr(&out), "x: 9%\ny: 9%\n900%|██|\n");
    buf_clear(&out);
    text_settle("plain\tnächste\n\n", 16, &out);
    CHECK_STR(buf_cstr(&out), "plain\tnächste\n\n");
}

TEST(long_output_is_cut_in_the_middle)
{
    err e = {0};
    AUTO_BUF bytes = {0}, out = {0};
    for (int i = 0; i < 1000; i++)
        buf_fmt(&bytes, "line %d\n", i);
    struct output o = {.kind = OUTPUT_STREAM, .text = bytes.data, .text_n = bytes.len};
    CHECK_OK(output_text(&o, NULL, 1000, &out, &e) == 0, e);
    CHECK(out.len < 1100);
    CHECK_HAS(out.data, "line 0\n");
    CHECK_HAS(out.data, "bytes left out");
    CHECK_HAS(out.data, "line 999\n");
    spool *s = spool_create(tap_dir(), "out", &e);
    CHECK_OK(spool_append(s, bytes.data, bytes.len, 0, &e) == 0, e);
    spool_close(s);
    struct output spooled = {
        .kind = OUTPUT_STREAM, .spool = (char *)"out", .from = 0, .to = bytes.len};
    buf_clear(&out);
    CHECK_OK(output_text(&spooled, tap_dir(), 1000, &out, &e) == 0, e);
    CHECK(out.len < 1100);
    CHECK_HAS(out.data, "line 999\n");
    CHECK_INT(output_text(&spooled, "/nonexistent", 0, &out, &e), -1);
}

int main(void)
{
    return tap_run();
}
