// SPDX-License-Identifier: MIT
#include "trainer/data/table/csv.h"
#include "trainer/data/table/frame.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

// Every column of what is accepted has all rows, and codes of categories that are there.
static void check(const frame *f)
{
    for (size_t i = 0; i < f->n; i++) {
        const frame_column *c = &f->column[i];
        if (tensor_rows(c->values) != f->rows || c->kind == FRAME_AUTO)
            abort();
        for (size_t r = 0; c->kind == FRAME_CATEGORY && r < f->rows; r++)
            if (tensor_at(c->values, r) < 0 || tensor_at(c->values, r) > (double)c->category_n)
                abort();
    }
}

// Read whole, and by three ranks, which together have as many rows.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    err e;
    size_t rows = 0;
    frame whole, part;
    int status = frame_parse(bytes, n, &(frame_spec){0}, &whole, &e);
    for (int rank = 0; rank < 3; rank++) {
        if (frame_parse(bytes, n, &(frame_spec){.rank = rank, .size = 3}, &part, &e) != status)
            abort();
        rows += part.rows;
        if (status == 0)
            check(&part);
        frame_done(&part);
    }
    if (status == 0 && (rows != whole.rows))
        abort();
    if (status == 0)
        check(&whole);
    frame_done(&whole);
    return 0;
}
