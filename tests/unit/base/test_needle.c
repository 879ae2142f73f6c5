// SPDX-License-Identifier: MIT
#include "base/data/needle.h"
#include "base/mem.h"
#include "tests/support/tap.h"

#include <stdint.h>
#include <string.h>

static size_t find(const char *needle, const char *bytes, size_t n)
{
    struct needle x = {0};
    needle_set(&x, needle, strlen(needle));
    const char *at = needle_find(&x, bytes, n);
    needle_done(&x);
    return at ? (size_t)(at - bytes) : SIZE_MAX;
}

TEST(needles_are_found_in_either_case)
{
    static const char text[] = "2026-01-01T00:00:00Z Worker-3 step [17] LOSS 0.25 caf\xc3\xa9";
    size_t n = sizeof text - 1;
    CHECK_INT(find("worker-3", text, n), 21);
    CHECK_INT(find("loss", text, n), 40);
    CHECK_INT(find("Loss 0.25", text, n), 40);
    CHECK_INT(find("[17]", text, n), 35);
    CHECK_INT(find("{17}", text, n), SIZE_MAX); // equal but for the bit of letter case
    CHECK_INT(find("caf\xc3\xa9", text, n), 50);
    CHECK_INT(find("caf\xc3\x89", text, n), SIZE_MAX); // only ASCII has cases
    CHECK_INT(find("2", text, n), 0);
    CHECK_INT(find("", text, n), 0);
    CHECK_INT(find("x", "", 0), SIZE_MAX);
    CHECK_INT(find("ab", "a\0AB", 4), 2);
}

TEST(a_needle_may_have_a_nul)
{
    struct needle x = {0};
    needle_set(&x, "a\0B", 3);
    CHECK(needle_find(&x, "xa\0bx", 5) && !needle_find(&x, "xa\0cx", 5));
    needle_done(&x);
}

// Every length and place, in memory that ends with the text.
TEST(needles_are_found_wherever_they_stand)
{
    size_t wrong = 0;
    for (size_t n = 1; n <= 70; n++)
        for (size_t m = 1; m <= n && m <= 20; m++)
            for (size_t at = 0; at + m <= n; at++) {
                AUTO_FREE char *text = mem_array(n, 1);
                char needle[21] = {0};
                memset(text, 'a', n);
                memset(text + at, 'B', m);
                memset(needle, 'b', m);
                wrong += find(needle, text, n) != at;
                needle[m - 1] = 'c';
                wrong += find(needle, text, n) != SIZE_MAX;
            }
    CHECK_INT(wrong, 0);
}

int main(void)
{
    return tap_run();
}
