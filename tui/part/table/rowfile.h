// SPDX-License-Identifier: MIT
// The rows of a file: CSV and TSV with names in the first line, or a JSON object on each line. The
// file is not loaded: where each 64th row begins is all that is kept of it, and of what a filter or
// an order needs four bytes for a row. The work is done a few milliseconds at a time.
//
//   file    name,loss\n a,0.5\n b,"0.4"\n …      places  row 0 ^        row 64 ^        row 128 ^
//   shown   rows of the file that pass, in order: NULL while all are shown as they stand
//
// The file is read, not mapped: one that is cut short while it is looked at would end the program.
#pragma once
#include "base/err.h"
#include "tui/part/table/tablefilter.h"
#include "tui/part/table/tablelayout.h"

#include <stdint.h>

enum rowfile_kind { ROWFILE_CSV, ROWFILE_TSV, ROWFILE_JSONL };
// By the end of its name: .csv, .tsv and .tab, .jsonl and .ndjson. false: another file.
bool rowfile_kind_of(const char *path, enum rowfile_kind *kind);

typedef struct rowfile rowfile;
// Of a CSV file the separator is what its first line has most of: , ; | or a tab. growing: another
// program is still writing it (rowfile_ended). Errors: it cannot be read, is no file, or no text.
rowfile *rowfile_open(const char *path, enum rowfile_kind kind, bool growing, err *e);
void rowfile_free(rowfile *f); // NULL is fine
void rowfile_ended(rowfile *f);
// Looks for rows, filters and sorts up to this time (mono ns). false: nothing can be done now.
bool rowfile_work(rowfile *f, int64_t until);
bool rowfile_looking(const rowfile *f); // is there still something to do?
// Appends what is being done: "43% read", "sorting 12%"; nothing when all is done.
void rowfile_say(const rowfile *f, buf *out);

int rowfile_columns(const rowfile *f);
const char *rowfile_column(const rowfile *f, int i);
bool rowfile_is_right(const rowfile *f, int i); // the first rows have numbers there
// Widths are those of the first rows, and of those that were looked at.
void rowfile_measure(const rowfile *f, struct table_column *out);
uint64_t rowfile_total(const rowfile *f); // rows found so far
size_t rowfile_count(const rowfile *f);   // rows that pass, so far
// Appends the words of an entry of the row that is shown at this place.
void rowfile_entry(rowfile *f, size_t row, int i, buf *out);
uint64_t rowfile_number(const rowfile *f, size_t row); // its place in the file, from 0

void rowfile_filter(rowfile *f, const char *words);
const struct tablefilter *rowfile_filtered(const rowfile *f);
void rowfile_sort(rowfile *f, int column, bool reverse); // -1: as they stand in the file
int rowfile_sorted(const rowfile *f, bool *reverse);
