// SPDX-License-Identifier: MIT
// Runs whose values are looked at: the one that is open, as the bench knows it, and others from
// their journals, read a few milliseconds at a time. It owns those that it has opened; `bench` and
// `folder` are borrowed.
#pragma once
#include "script/journal/fold/follow.h"
#include "tui/bench/view.h"

struct feed {
    char *run;
    follow *follow;    // NULL: it is the open one, or cannot be read
    bool own;          // the open one
    char *wrong;       // why it cannot be read; NULL: it can
    size_t known;      // series that were seen (metrics_load.c)
    uint64_t seq;      // of the fold when its trainings were looked at
    bool whole;        // also all of its trials
    int64_t described; // mono ns: when its parameters were looked at
};
struct feeds {
    bench *bench;
    const char *folder;
    struct feed *list;
    size_t n;
};

// The place of this run, which is opened if it is not there yet.
size_t feeds_add(struct feeds *f, const char *run);
void feeds_done(struct feeds *f);
const fold *feed_fold(const struct feeds *f, size_t i); // NULL: it cannot be read
// Reads all of them on for some milliseconds.
void feeds_read(struct feeds *f, int ms);
size_t feeds_behind(const struct feeds *f); // how many are not read to their end
// For a view's wait_ms: soon while something is read, twice a second while one of them is written.
int feeds_wait_ms(const struct feeds *f);
