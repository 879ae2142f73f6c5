// SPDX-License-Identifier: MIT
// Long work of others, on standard error: on a terminal one line that is rewritten in place, and
// gone when the work is over; else a line now and then: after ten seconds, and then each time as
// much time again has passed, or another quarter is done. What takes less than a second says
// nothing. The caller owns it.
#pragma once
#include "base/work.h"
#include "cli/cli.h"

typedef struct bar bar;
bar *bar_new(struct cli *cli);
void bar_free(bar *b); // NULL is fine; leaves no line
// A work by its number is there now.
struct bar_work {
    const char *what, *text; // as work_words says it
    double done, total;      // total 0: unknown
    double elapsed;          // seconds
};
void bar_show(bar *b, int64_t id, const struct bar_work *w);
void bar_end(bar *b, int64_t id);
// Takes the line away before something else is printed; the next bar_show puts it back.
void bar_clear(bar *b);

// Work of this program: a thread reads the record and shows it. Only one at a time. what: borrowed.
typedef struct own_work own_work;
own_work *own_work_begin(struct cli *cli, const char *what, enum work_unit unit, const char *noun);
// Until the end an interrupt (INT, TERM) only ends the watch, so that whoever works can clean up; a
// second one kills.
void own_work_survives(own_work *w);
const struct work_watch *own_work_watch(const own_work *w);
// Call it before something else is printed. NULL is fine.
void own_work_clear(own_work *w);
void own_work_end(own_work *w); // NULL is fine
