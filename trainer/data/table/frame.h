// SPDX-License-Identifier: MIT
// A CSV file as columns of numbers. The file is read twice: first for what each column holds, then
// into tensors of exactly the right size. What is known of a column (kind, categories, statistics)
// is of all its rows, so ranks that keep different rows know the same.
//
//   kind       what all its fields are   tensor
//   number     numbers, also inf; or     integers when all are and none is missing, else F32 with
//              True and False: 1 and 0   nan where one is missing
//   date       2015-07-31, or as         the same, days since 1970-01-01
//              date_format says
//   datetime   2015-07-31 10:30:00, …    I64, seconds since 1970-01-01; of a zone, in UTC
//   category   anything else, and ids    integers: 0 missing or unknown, else from 1 on in the
//              beyond 64 bits            order in which they first appear
//
// Integers have the narrowest type that holds the column's (column.h).
#pragma once
#include "base/data/hashmap.h"
#include "trainer/tensor/tensor.h"

//  X(name, text)
#define FRAME_KINDS(X)                                                                             \
    X(AUTO, "auto")                                                                                \
    X(NUMBER, "number")                                                                            \
    X(DATE, "date")                                                                                \
    X(DATETIME, "datetime")                                                                        \
    X(CATEGORY, "category")

typedef enum frame_kind {
#define X(name, text) FRAME_##name,
    FRAME_KINDS(X)
#undef X
} frame_kind;

typedef struct frame_column {
    char *name;
    frame_kind kind;
    tensor *values;    // (rows kept)
    char **categories; // NULL-terminated; the first has code 1
    size_t category_n;
    hashmap *codes; // category → its index in `categories`
    bool fixed;     // the categories come from another file: others have code 0
    size_t seen, missing;
    double mean, squares, min, max; // without missing values; squares: Σ (v - mean)²
} frame_column;

typedef struct frame {
    size_t n;
    frame_column *column;
    size_t rows; // kept
    char *note;  // warnings, one a line; NULL: none
} frame;

typedef struct frame_spec {
    char separator; // 0: a comma
    char comment;   // these five as csv_format has them
    size_t skip;
    int encoding;
    char decimal, thousands; // 0: a point; no separator
    bool headless;           // no record has names: they are 0, 1, …
    const char *date_format; // as strptime's, with %Y %y %m %d %H %M %S %f %z %b; NULL: ISO 8601
    const char *const *yes, *const *no; // more words for true and false; NULL: only True and False
    const char *const *names;           // NULL: the first record has them
    const char *const *missing;         // NULL-terminated; NULL: "", NA, NaN, … as pandas
    const char *const *only;            // NULL-terminated names of the columns to keep; NULL: all
    // What is known in advance: columns by name with kind, and all categories of a category that is
    // `fixed`. The rest is found out. Borrowed.
    const frame *known;
    int rank, size; // keep rows rank, rank + size, …; size 0: all
} frame_spec;

// Call frame_done also after an error. Errors name file, line and column.
int frame_read(const char *path, const frame_spec *spec, frame *out, err *e);
int frame_parse(const void *bytes, size_t n, const frame_spec *spec, frame *out, err *e);
void frame_done(frame *f);
// Appends an empty column; returns it. For `known`.
frame_column *frame_add(frame *f, const char *name, size_t n);
void frame_add_category(frame_column *c, const char *text, size_t n);
int frame_kind_parse(const char *text, frame_kind *kind, err *e);
const char *frame_kind_name(frame_kind kind);
double frame_std(const frame_column *c); // of the population; 0 if there were no values
// Days since 1970-01-01 of a text YYYY-MM-DD; false if it is not a date.
bool frame_date(const char *text, size_t n, int64_t *days);
// Seconds since 1970-01-01 of a text in that format (NULL: YYYY-MM-DD, then a time HH:MM or more
// after a space or T, then Z or a zone +HH:MM); false if it is not a date. `clock`: it has a time.
bool frame_time(const char *text, size_t n, const char *format, int64_t *seconds, bool *clock);
