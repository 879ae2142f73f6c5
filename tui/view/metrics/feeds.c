// SPDX-License-Identifier: MIT
#include "tui/view/metrics/feeds.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/file/reader.h"

enum { LIVE_MS = 500 };

size_t feeds_add(struct feeds *f, const char *run)
{
    for (size_t i = 0; i < f->n; i++)
        if (str_eq(f->list[i].run, run))
            return i;
    f->list = mem_resize(f->list, f->n + 1, sizeof *f->list);
    struct feed *feed = &f->list[f->n];
    *feed = (struct feed){.run = mem_strdup(run), .own = str_eq(run, bench_run(f->bench))};
    if (!feed->own) {
        err e = {0};
        AUTO_FREE char *path = journal_file(f->folder, run);
        feed->follow = follow_open(path, &e);
        feed->wrong = mem_strdup(feed->follow ? NULL : e.text);
    }
    return f->n++;
}

void feeds_done(struct feeds *f)
{
    for (size_t i = 0; i < f->n; i++) {
        follow_close(f->list[i].follow);
        free(f->list[i].run);
        free(f->list[i].wrong);
    }
    free(f->list);
    f->list = NULL;
    f->n = 0;
}

const fold *feed_fold(const struct feeds *f, size_t i)
{
    const struct feed *feed = &f->list[i];
    return feed->own ? bench_fold(f->bench) : feed->follow ? follow_fold(feed->follow) : NULL;
}

void feeds_read(struct feeds *f, int ms)
{
    int64_t until = clock_mono() + ms * CLOCK_MS;
    for (size_t i = 0; i < f->n; i++) {
        struct feed *feed = &f->list[i];
        bool due = feed->follow && (follow_behind(feed->follow) || follow_goes_on(feed->follow));
        if (!due || (clock_mono() > until && follow_behind(feed->follow)))
            continue;
        follow_read(feed->follow, until);
        const char *wrong = follow_wrong(feed->follow);
        if (wrong && !feed->wrong)
            feed->wrong = mem_strdup(wrong);
    }
}

size_t feeds_behind(const struct feeds *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        n += f->list[i].follow && !f->list[i].wrong && follow_behind(f->list[i].follow);
    return n;
}

int feeds_wait_ms(const struct feeds *f)
{
    if (feeds_behind(f))
        return 1;
    for (size_t i = 0; i < f->n; i++)
        if (f->list[i].follow && follow_goes_on(f->list[i].follow))
            return LIVE_MS;
    return -1;
}
