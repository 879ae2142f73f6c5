// SPDX-License-Identifier: MIT
// A spool and its index, with any content: the returned lines are clean, and filter and search come
// to an end. The input: a byte with the length of the index, the index, the bytes.
#include "tui/part/lines/lines.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

static void check_lines(lines *l)
{
    struct numbered_line line;
    uint64_t n = lines_count(l);
    for (uint64_t i = 0; i < n && i < 40; i++) {
        if (!lines_get(l, i * 7919 % n, &line))
            continue; // the index is wrong
        if (!utf8_valid(line.text.text, line.text.n))
            abort();
        for (size_t k = 0; k < line.text.n; k++)
            if ((unsigned char)line.text.text[k] < 0x20 && line.text.text[k] != '\t')
                abort();
    }
    lines_get(l, n, &line);
}

static void work(lines *l)
{
    int steps = 0;
    while (lines_work(l))
        if (++steps > 10000)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const patterns[] = {"", "a", "!a", "\xc3", "e\x1b"};
    const char *dir = fuzz_folder();
    size_t index = n ? 1 + (size_t)data[0] * 24 : 0;
    index = index < n ? index : n;
    free(fuzz_file("s", data + index, n - index));
    free(fuzz_file("s.idx", data + (n > 0), index - (index > 0)));
    lines *l = lines_new();
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        uint64_t hit, from = i * 3, size = n - index + i; // also beyond the end
        lines_filter(l, patterns[i]);
        lines_begin(l);
        struct linestream stream = {.text = (const char *)data,
            .n = i * (n > 9), // sometimes it began as a text
            .dir = dir,
            .spool = "s",
            .from = from,
            .to = from + size};
        lines_add_stream(l, &stream, (style){0});
        lines_add_text(l, (const char *)data, n, (style){0});
        lines_end(l);
        work(l);
        check_lines(l);
        lines_search(l, "e", i, i % 2);
        work(l);
        if (lines_searched(l, &hit) == SEARCH_GOES_ON)
            abort();
        struct lines_place place = lines_found(l);
        if (place.more || place.at > place.count)
            abort();
    }
    lines_free(l);
    return 0;
}
