// SPDX-License-Identifier: MIT
// Long work, and how far it is. Whoever owns the work owns the record, and nobody may read it after
// it is gone. Whoever does the work counts steps, from any thread; a step costs an addition and
// looks at no clock. Whoever shows it reads it a few times a second (work_look), so it is known,
// too, that nothing moves.
#pragma once
#include "base/buf.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum work_unit { WORK_ITEMS, WORK_BYTES };

struct work {
    const char *what;            // "push registry.example.org/mnist:1"; borrowed, and constant
    atomic_int unit;             // enum work_unit
    const char *noun;            // of items and of parts: "layers", "files"; a constant; or NULL
    int64_t began;               // mono ns
    _Atomic(const char *) phase; // "hashing", a constant; NULL: none
    atomic_llong done, total;    // total 0: unknown
    atomic_llong skipped;        // part of `done` that was there already: no speed comes from it
    atomic_llong part, parts;    // parts that are done, of how many; parts 0: it has none
    atomic_llong cached;         // of these parts: that needed no work
    struct work_pace {
        int64_t looked, moved; // mono ns of the last look, and of the last that saw `at` change
        int64_t at;            // what was done without what was skipped
        double rate, weight;   // a mean in which a second ago counts more than ten
    } pace;                    // the reader's alone
};

void work_begin(struct work *w, const char *what, enum work_unit unit, const char *noun);
// All of these take NULL for work that nobody shows. n of the first may be less than 0: it must be
// done again.
static inline void work_step(struct work *w, int64_t n)
{
    if (w)
        atomic_fetch_add_explicit(&w->done, n, memory_order_relaxed);
}
// This much was there already.
void work_skip(struct work *w, int64_t n);
void work_total(struct work *w, int64_t total);
void work_more(struct work *w, int64_t n); // the total is this much more
// Another phase begins; what is counted starts at 0 again. phase: a constant.
void work_phase(struct work *w, const char *phase, enum work_unit unit, int64_t total);
void work_parts(struct work *w, int64_t parts);
void work_part(struct work *w, bool cached); // one of them is done

// What whoever does long work without a wait gets: where to count, and whether to go on. All may be
// NULL, the whole, too.
struct work_watch {
    struct work *work;
    bool (*go_on)(void *arg); // false: stop, with ERR_CANCELLED
    void *arg;
};
static inline bool work_goes_on(const struct work_watch *w)
{
    return !w || !w->go_on || w->go_on(w->arg);
}
static inline struct work *work_of(const struct work_watch *w)
{
    return w ? w->work : NULL;
}

// How it stands.
struct work_state {
    const char *what, *phase, *noun; // phase, noun: NULL: none
    enum work_unit unit;
    int64_t done, total; // total 0: unknown; never less than done
    int64_t part, parts, cached;
    double elapsed; // seconds
    double rate;    // per second; NaN: unknown yet
    double left;    // seconds; NaN: nobody can say. It is said only when some seconds were watched,
                    // something moves, and the total is known
    double idle;    // seconds in which nothing has moved; 0: it moves
};
// From one thread at a time, a few times a second. now: mono ns.
struct work_state work_look(struct work *w, int64_t now);
// "compressing 41.2/120.0 MB, 12.1 MB/s, 7s left, 2/9 layers, 1 cached": all but `what`.
void work_words(const struct work_state *s, buf *out);
// At the end: "41.2 MB in 3.4s, 9 layers, 7 cached".
void work_result(const struct work_state *s, buf *out);

// "950 B", "12.3 KB", "41.2 MB", "1.24 GB", in steps of 1000 as registries count.
void work_bytes_text(buf *out, int64_t bytes);
// "45/s", "1.2k/s", "0.31/s".
void work_rate_text(buf *out, double rate);
// "9.0s", "59s", "1m05s", "2h10m".
void work_time_text(buf *out, double seconds);
