// SPDX-License-Identifier: MIT
#include "base/data/hashmap.h"
#include "base/data/hashset.h"
#include "tests/support/tap.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

TEST(hashmap_keys_are_bytes_and_are_copied)
{
    hashmap *m = hashmap_new();
    char key[] = "cell";
    size_t at = 0;
    hashmap_set(m, key, 4, 7);
    key[0] = 'h';
    CHECK(hashmap_get(m, "cell", 4, &at));
    CHECK_INT(at, 7);
    CHECK(!hashmap_get(m, "hell", 4, &at));
    CHECK(!hashmap_get(m, "cel", 3, &at));
    hashmap_set(m, "cell", 4, 8);
    hashmap_set(m, "", 0, 9);
    hashmap_set(m, "a\0b", 3, 10);
    CHECK(hashmap_get(m, "cell", 4, &at) && at == 8);
    CHECK(hashmap_get(m, "", 0, &at) && at == 9);
    CHECK(hashmap_get(m, "a\0b", 3, &at) && at == 10);
    CHECK(!hashmap_get(m, "a\0c", 3, &at));
    CHECK_INT(hashmap_count(m), 3);
    hashmap_clear(m);
    CHECK_INT(hashmap_count(m), 0);
    CHECK(!hashmap_get(m, "cell", 4, &at));
    hashmap_free(m);
    hashmap_free(NULL);
}

TEST(hashmap_borrows_keys_when_told_to)
{
    hashmap *m = hashmap_new_borrowing();
    char first[] = "cell", same[] = "cell";
    size_t at = 0;
    hashmap_set(m, first, 4, 7);
    hashmap_set(m, same, 4, 8);
    same[0] = 'h'; // the entry has the bytes of the first one
    CHECK(hashmap_get(m, "cell", 4, &at) && at == 8);
    CHECK_INT(hashmap_count(m), 1);
    CHECK(hashmap_remove(m, "cell", 4));
    CHECK(!hashmap_get(m, "cell", 4, &at));
    hashmap_set(m, first, 4, 9);
    hashmap_free(m);
    CHECK(strcmp(first, "cell") == 0);
}

// Compares the table with an array, through many random sets and removals.
TEST(hashmap_agrees_with_an_array)
{
    enum { KEYS = 512, STEPS = 200000 };
    static int there[KEYS];
    hashmap *m = hashmap_new();
    uint32_t random = 1;
    size_t count = 0, wrong = 0;
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525 + 1013904223;
        int64_t key = random >> 8 & (KEYS - 1);
        if (random >> 30) {
            count += !there[key];
            there[key] = step + 1;
            hashmap_set(m, &key, sizeof key, (size_t)step + 1);
        } else {
            wrong += hashmap_remove(m, &key, sizeof key) != (there[key] != 0);
            count -= there[key] != 0;
            there[key] = 0;
        }
        int64_t other = random >> 17 & (KEYS - 1);
        size_t value = 0;
        bool got = hashmap_get(m, &other, sizeof other, &value);
        wrong += got != (there[other] != 0) || (got && value != (size_t)there[other]);
        wrong += hashmap_count(m) != count;
    }
    CHECK_INT(wrong, 0);
    hashmap_free(m);
}

static void add_up(void *arg, size_t value)
{
    *(size_t *)arg += value;
}

TEST(hashmap_each_has_each_value_once)
{
    hashmap *m = hashmap_new();
    size_t sum = 0;
    hashmap_each(m, add_up, &sum);
    CHECK_INT(sum, 0);
    for (size_t i = 1; i <= 100; i++)
        hashmap_set(m, &i, sizeof i, i);
    hashmap_each(m, add_up, &sum);
    CHECK_INT(sum, 5050);
    hashmap_free(m);
}

static const char *name_of(uint32_t i)
{
    static char name[32];
    snprintf(name, sizeof name, "pod-%u", i);
    return name;
}

// As above, with a set.
TEST(hashset_agrees_with_an_array)
{
    enum { KEYS = 512, STEPS = 200000 };
    static bool there[KEYS];
    hashset *s = hashset_new();
    uint32_t random = 1;
    size_t count = 0, wrong = 0;
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525 + 1013904223;
        uint32_t key = (random >> 8) % KEYS;
        bool add = random >> 31;
        add ? hashset_add(s, name_of(key)) : hashset_remove(s, name_of(key));
        count += (size_t)(add && !there[key]) - (size_t)(!add && there[key]);
        there[key] = add;
        key = (random >> 16) % KEYS;
        wrong += hashset_has(s, name_of(key)) != there[key] || hashset_count(s) != count;
    }
    CHECK_INT(wrong, 0);
    for (uint32_t i = 0; i < KEYS; i++)
        wrong += hashset_has(s, name_of(i)) != there[i];
    CHECK_INT(wrong, 0);
    CHECK(!hashset_has(s, "") && !hashset_has(s, "pod"));
    hashset_clear(s);
    CHECK_INT(hashset_count(s), 0);
    CHECK(!hashset_has(s, name_of(1)));
    hashset_free(s);
    hashset_free(NULL);
}

int main(void)
{
    return tap_run();
}
