// SPDX-License-Identifier: MIT
// Rows that a person has marked, by uid, in the order in which it was done. It owns copies.
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct marks marks;

marks *marks_new(void);
void marks_free(marks *m);
bool marks_has(const marks *m, const char *uid);
void marks_set(marks *m, const char *uid, bool marked);
void marks_clear(marks *m);
size_t marks_count(const marks *m);
// The marked rows, from i = 0 on; NULL at the end. It may skip i forward over those unmarked.
const char *marks_next(const marks *m, size_t *i);
