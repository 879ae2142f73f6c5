// SPDX-License-Identifier: MIT
// Feeds a fuzz target its corpus, as TAP: each file as it is, cut off at every length, and with
// bytes changed. What it looks for is a crash, a sanitizer's report, or a target that does not end.
//   replay-NAME FOLDER…
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { CUTS = 400, CHANGES = 2000, FILE_MAX = 1 << 20 };

// The input lies in memory that ends where it ends, so that reading on is noticed.
static void feed(const uint8_t *bytes, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    memcpy(copy, bytes, n);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// One to four bytes become something else: a bit flipped, any value, or one that is often special.
static void change(uint8_t *bytes, size_t n, uint64_t *state)
{
    static const uint8_t special[] = {0, 1, 0x7f, 0x80, 0xff, '"', '{', '}', '[', '9', '-', '\\'};
    for (uint64_t left = next(state) % 4 + 1; left > 0; left--) {
        // Headers matter more than data: half of the changes fall into the first bytes.
        size_t range = next(state) % 2 && n > 512 ? 512 : n;
        uint8_t *at = &bytes[next(state) % range];
        switch (next(state) % 3) {
        case 0:
            *at ^= (uint8_t)(1u << next(state) % 8);
            break;
        case 1:
            *at = (uint8_t)next(state);
            break;
        default:
            *at = special[next(state) % sizeof special];
        }
    }
}

static void replay(const uint8_t *bytes, size_t n)
{
    uint64_t state = n;
    uint8_t *copy = malloc(n ? n : 1);
    feed(bytes, n);
    for (size_t i = 0; i < n; i += n / CUTS + 1)
        feed(bytes, i);
    for (int i = 0; n && i < CHANGES; i++) {
        memcpy(copy, bytes, n);
        change(copy, n, &state);
        feed(copy, n);
    }
    free(copy);
}

static int replay_file(const char *folder, const char *name)
{
    char path[4096];
    static uint8_t bytes[FILE_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        return -1;
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    replay(bytes, n);
    return 0;
}

int main(int argc, char **argv)
{
    int done = 0;
    for (int i = 1; i < argc; i++) {
        struct dirent **names;
        int n = scandir(argv[i], &names, NULL, alphasort);
        for (int j = 0; j < n; j++) {
            if (names[j]->d_name[0] != '.') {
                int status = replay_file(argv[i], names[j]->d_name);
                printf("%s %d - %s\n", status ? "not ok" : "ok", ++done, names[j]->d_name);
                fflush(stdout);
            }
            free(names[j]);
        }
        if (n >= 0)
            free(names);
    }
    printf("1..%d\n", done);
    return done == 0;
}
