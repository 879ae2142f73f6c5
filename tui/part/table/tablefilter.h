// SPDX-License-Identifier: MIT
// What is typed after "/" in a table: conditions on columns (base/data/condition.h), else a text or
// an expression that any entry may match (base/data/pattern.h). It owns its copies; {0} lets all
// pass.
//
//   col01>20 and STATUS!=Running      AGE<2h  MEM>=512Mi     numbers with units, as tables have
//   them day>=2026-01 and day<2026-03-15   compared as far as the value is written
//   NAME~^web-[0-9]+$  NAME!~test     expressions, in either case
#pragma once
#include "base/buf.h"
#include "base/data/condition.h"
#include "base/data/pattern.h"

// The table that is filtered.
struct tablefilter_columns {
    const void *table;
    int n;
    const char *(*name)(const void *table, int i);
};
struct tablefilter {
    struct condition condition; // no terms: the pattern counts
    int *columns;               // of each term
    struct pattern *patterns;   // of each term
    struct pattern pattern;
    char wrong[96]; // why it is no condition although it looks like one; "": it is, or does not
};

void tablefilter_set(
    struct tablefilter *f, const char *text, const struct tablefilter_columns *columns);
void tablefilter_done(struct tablefilter *f);
bool tablefilter_is_empty(const struct tablefilter *f);
// Does a row pass? `entry` writes the words of its entry in a column.
bool tablefilter_passes(const struct tablefilter *f, int columns,
    void (*entry)(const void *row, int column, buf *out), const void *row);
// The column of this name, in either case if there is only one such; -1: none.
int tablefilter_column(const struct tablefilter_columns *columns, const char *name);
bool tablefilter_is_date(const char *words); // 2026-01-02, 2026-01-02T03:04:05Z, 2026-01
// Appends a condition on a column: NAME=VALUE, with quotes where they are needed. op "": only the
// name.
void tablefilter_write(buf *out, const char *column, const char *op, const char *value);
