// SPDX-License-Identifier: MIT
// Feeds a fuzz target its corpus, as TAP: each file as it is, cut off at every length, and with
// bytes changed. It finds crashes, sanitizers' reports, and targets that do not end.
//   replay-NAME FOLDER…
#include "tests/fuzz/random.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

// CUTS and CHANGES, how often, are given by meson.build.
enum { FILE_MAX = 1 << 20 };

// The present input, for those who want to feed it again.
static struct {
    const uint8_t *bytes;
    size_t n;
} input;

static void keep_input(int signum)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/firesteel-replay-%d", (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, input.bytes, input.n) == (ssize_t)input.n)
        fprintf(stderr, "the input is in %s\n", path);
    raise(signum);
}

// The input's memory ends where the input ends, so that reading further is noticed.
static void feed(const uint8_t *bytes, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    memcpy(copy, bytes, n);
    input.bytes = copy;
    input.n = n;
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

// Changes one to four bytes: flips a bit, or sets any value, or one that is often special.
static void change(uint8_t *bytes, size_t n, uint64_t *state)
{
    static const uint8_t special[] = {0, 1, 0x7f, 0x80, 0xff, '"', '{', '}', '[', '9', '-', '\\'};
    for (uint64_t left = random_next(state) % 4 + 1; left > 0; left--) {
        // Headers matter more than data: half of the changes fall into the first bytes.
        size_t range = random_next(state) % 2 && n > 512 ? 512 : n;
        uint8_t *at = &bytes[random_next(state) % range];
        switch (random_next(state) % 3) {
        case 0:
            *at ^= (uint8_t)(1u << random_next(state) % 8);
            break;
        case 1:
            *at = (uint8_t)random_next(state);
            break;
        default:
            *at = special[random_next(state) % sizeof special];
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
    sigaction(
        SIGABRT, &(struct sigaction){.sa_handler = keep_input, .sa_flags = SA_RESETHAND}, NULL);
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
