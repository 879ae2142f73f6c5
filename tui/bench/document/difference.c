// SPDX-License-Identifier: MIT
// How the document's file differs from what is here, line by line, as `diff -u` prints it.
#include "base/data/linediff.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"
#include "tui/bench/command.h"
#include "tui/bench/views.h"

void show_difference(bench *b)
{
    err e = {0};
    AUTO_BUF file = {0}, here = {0}, lines = {0};
    notebook *nb = b->path ? notebook_load(b->path, &e) : NULL;
    AUTO_FREE char *name = path_basename(b->path ? b->path : "");
    AUTO_FREE char *from = str_fmt("%s, the file", name), *to = str_fmt("%s, here", name);
    remote_flush(b);
    if (!nb) {
        bench_complain(b, "%s cannot be compared: %s", name, b->path ? e.text : "it has no file");
        return;
    }
    notebook_print(nb, &file);
    notebook_print(fold_notebook(b->fold), &here);
    notebook_free(nb);
    if (linediff(&lines, from, to, buf_cstr(&file), buf_cstr(&here)))
        page_push_peek(b, 0, "what saving would change", buf_cstr(&lines));
    else
        bench_say(b, "the file is the same as what is here");
}

void difference_join(bench *b)
{
    if (!b->touched)
        return;
    b->touched = false;
    show_difference(b);
    bench_complain(b,
        "the file has changed while there was unsaved text here: q goes on, and saving "
        "asks which of them to keep");
}
