// SPDX-License-Identifier: MIT
#include "script/journal/fold/follow.h"

#include "base/clock.h"
#include "base/mem.h"
#include "script/journal/file/reader.h"

#include <stdlib.h>

enum { AT_ONCE = 64 }; // records between two looks at the clock

struct follow {
    reader *reader;
    fold *fold;
    char *path;
    bool behind, written; // written: somebody did write it at the last look
    err wrong;
};

follow *follow_open(const char *path, err *e)
{
    reader *r = reader_open(path, e);
    if (!r)
        return NULL;
    follow *f = mem_alloc(sizeof *f);
    *f = (follow){.reader = r, .fold = fold_new(), .path = mem_strdup(path), .behind = true};
    reader_skip(r, fold_only_shown);
    fold_keep_rows(f->fold, 1);
    f->written = journal_is_written(path);
    return f;
}

void follow_close(follow *f)
{
    if (!f)
        return;
    reader_close(f->reader);
    fold_free(f->fold);
    free(f->path);
    free(f);
}

// 1: a record was folded; 0: the present end; -1: the journal is of another format.
static int read_one(follow *f)
{
    cJSON *record;
    err e = {0};
    int result = reader_next(f->reader, &record, &e);
    if (result > 0) {
        fold_event(f->fold, record, &e); // a damaged record is left out
        cJSON_Delete(record);
    }
    if (result < 0 && e.code != ERR_CORRUPT) {
        f->wrong = e;
        return -1;
    }
    return result != 0;
}

// Whoever wrote it may have ended meanwhile: then what it wrote last is read before it counts as
// abandoned.
static void look_at_writer(follow *f)
{
    bool was = f->written;
    f->written = was && fold_state(f->fold) == RUN_RUNNING && journal_is_written(f->path);
    if (was && !f->written)
        f->behind = true;
    else if (!f->written)
        fold_abandon(f->fold);
}

bool follow_read(follow *f, int64_t until)
{
    bool came = false;
    if (f->wrong.code)
        return false;
    f->behind = true;
    do {
        for (int i = 0; f->behind && i < AT_ONCE; i++) {
            int result = read_one(f);
            f->behind = result > 0;
            came = came || result > 0;
        }
    } while (f->behind && clock_mono() < until);
    if (!f->behind && !f->wrong.code)
        look_at_writer(f);
    return came;
}

const fold *follow_fold(const follow *f)
{
    return f->fold;
}

bool follow_behind(const follow *f)
{
    return f->behind;
}

bool follow_goes_on(const follow *f)
{
    return f->written && !f->wrong.code;
}

const char *follow_wrong(const follow *f)
{
    return f->wrong.code ? f->wrong.text : NULL;
}
