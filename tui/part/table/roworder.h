// SPDX-License-Identifier: MIT
// Rows in the order of their entries in one column: numbers (tablevalue_worth) before texts,
// "pod-9" before "pod-10", empty ones last, equal ones as they came. They are sorted by merging, a
// few milliseconds at a time. It owns the keys while it sorts, and then four bytes a row.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct roworder roworder;
roworder *roworder_new(size_t rows, bool reverse); // of so many rows
void roworder_free(roworder *o);                   // NULL is fine
void roworder_add(roworder *o, uint32_t row, const char *words);
// Sorts when all are added, up to this time (mono ns). false: it is done.
bool roworder_work(roworder *o, int64_t until);
bool roworder_done(const roworder *o);
int roworder_percent(const roworder *o);
uint32_t roworder_at(const roworder *o, size_t i);
