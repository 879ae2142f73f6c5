// SPDX-License-Identifier: MIT
// What the formats of export.h share. Only this folder includes it.
#pragma once
#include "script/report/export.h"

struct export
{
    const fold *fold;
    const char *spool_dir;
    size_t limit;
    err failure; // the first one
};

void export_ipynb(struct export *x, buf *out);
void export_md(struct export *x, buf *out);
