// SPDX-License-Identifier: MIT
// A spool and its index after a crash, with any content: reading ends, and appended bytes can be
// read. The input: a byte that says how long the index is, the index, the bytes.
#include "script/journal/file/spool.h"
#include "base/mem.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define FOLDER ".firesteel/run"

static void look(spool *s)
{
    AUTO_BUF bytes = {0};
    err e;
    uint64_t size = spool_size(s), lines = spool_lines(s), offset;
    for (uint64_t i = 0; i <= lines && i < 50; i++)
        if (spool_find_line(s, i * 31 % (lines + 1), &offset, &e) == 0)
            spool_line_at(s, offset);
    spool_line_at(s, size + 1);
    if (spool_read(s, 0, size, &bytes, &e) == 0 && bytes.len > size)
        abort();
    spool_read(s, size, UINT64_MAX, &bytes, &e);
}

static void append(const char *dir)
{
    static const char more[] = "one more\nand one";
    AUTO_BUF bytes = {0};
    err e;
    spool *s = spool_create(dir, "s", &e);
    if (!s)
        return;
    uint64_t size = spool_size(s);
    if (spool_append(s, more, sizeof more - 1, 1, &e) != 0)
        abort();
    if (spool_read(s, size, size + sizeof more, &bytes, &e) != 0 || bytes.len != sizeof more - 1 ||
        memcmp(bytes.data, more, bytes.len) != 0)
        abort();
    look(s);
    spool_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t index = n ? 1 + (size_t)data[0] : 0;
    index = index < n ? index : n;
    AUTO_FREE char *dir = path_join(fuzz_folder(), FOLDER);
    err e;
    if (path_make_dirs(dir, 0700, &e) != 0)
        abort();
    free(fuzz_file(FOLDER "/s", data + index, n - index));
    free(fuzz_file(FOLDER "/s.idx", data + (n > 0), index - (index > 0)));
    spool *s = spool_open(dir, "s", &e);
    if (s)
        look(s);
    spool_close(s);
    append(dir);
    return 0;
}
