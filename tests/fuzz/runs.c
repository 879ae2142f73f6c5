// SPDX-License-Identifier: MIT
// The index of runs, as any bytes and as a good one that was changed: what it still says is what
// was put in, and the next writer leaves a good one. The input: a byte that is 0 for the whole
// file; else how much is cut off a good one, then places (two bytes) and what they become.
#include "base/mem.h"
#include "base/os/path.h"
#include "script/journal/file/hidden.h"
#include "script/journal/runs/runs_index.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

enum { RUNS = 3 };

static const char *const names[RUNS] = {"a-1", "b\t2", "c\n3"};
static const char *const parts[RUNS_PARTS] = {
    "{\"params\":{\"lr\":0.1}}", "{\"origin\":{}}", "{\"inputs\":{}}", "{\"used\":[]}"};

static struct runs_brief brief_of(size_t i)
{
    struct runs_brief b = {.key = {(int64_t)i, 2, 3, INT64_MIN}, .left = (int64_t)i, .ran = i > 1};
    runs_brief_texts(&b, (const char *const[]){"ok", "2026-01-02T03:04:05Z", names[i], "/n.lua"});
    return b;
}

static void write_good(int dir)
{
    runs_index *x = runs_index_open(dir);
    for (size_t i = 0; i < RUNS; i++) {
        struct runs_brief b = brief_of(i);
        runs_index_add(x, &b, parts);
        runs_brief_done(&b);
    }
    runs_index_close(x);
}

// How many it knows. What it says of them must be what was put in.
static size_t known(runs_index *x)
{
    size_t n = 0;
    for (size_t i = 0; i < RUNS; i++) {
        struct runs_brief b = brief_of(i);
        const struct runs_brief *found = runs_index_find(x, names[i], &b.key);
        runs_index_keep(x, names[i]);
        n += found != NULL;
        if (found && (found->left != b.left || found->ran != b.ran || found->open ||
                         strcmp(found->state, "ok") != 0 || strcmp(found->notebook, "/n.lua") != 0))
            abort();
        for (enum runs_part p = 0; found && p < RUNS_PARTS; p++) {
            AUTO_FREE char *text = runs_index_part(x, found, p);
            if (text && strcmp(text, parts[p]) != 0)
                abort();
        }
        runs_brief_done(&b);
    }
    return n;
}

static void change(const char *path, const uint8_t *data, size_t n)
{
    AUTO_BUF bytes = {0};
    if (path_read(path, &bytes, 0, NULL) < 0)
        abort();
    bytes.len -= data[0] < bytes.len ? data[0] : bytes.len;
    for (size_t i = 1; i + 2 < n && bytes.len; i += 3)
        bytes.data[(data[i] << 8 | data[i + 1]) % bytes.len] = (char)data[i + 2];
    if (path_write(path, bytes.data, bytes.len, 0600, NULL) < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO_FREE char *path = path_join(fuzz_folder(), ".firesteel/runs.index");
    AUTO_FD dir = hidden_make(fuzz_folder(), NULL);
    if (dir < 0 || path_remove(path, NULL) < 0)
        abort();
    if (n && data[0]) {
        write_good(dir);
        change(path, data, n);
    } else if (path_write(path, n ? data + 1 : data, n - (n > 0), 0600, NULL) < 0) {
        abort();
    }
    runs_index *x = runs_index_open(dir);
    known(x);
    runs_index_close(x);
    write_good(dir);
    x = runs_index_open(dir);
    if (known(x) != RUNS)
        abort();
    runs_index_close(x);
    return 0;
}
