// SPDX-License-Identifier: MIT
// The processes of a launch; these tests run scripts in place of ranks.
#include "trainer/dist/job/launch.h"
#include "base/clock.h"
#include "base/mem.h"
#include "tests/support/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

// A launch of scripts in place of ranks, and what they have sent.
struct seen {
    char path[64];
    launch launch;
    buf bytes[2][CHANNELS];
    int status[2], gone;
};

static void on_bytes(void *ctx, int rank, enum channel c, const char *bytes, size_t n)
{
    struct seen *s = ctx;
    buf_add(&s->bytes[rank - 5][c], bytes, n);
}

static void on_gone(void *ctx, int rank, int status)
{
    struct seen *s = ctx;
    s->status[rank - 5] = status;
    s->gone++;
}

static int start(struct seen *s, const char *script, err *e)
{
    static const char *const settings[] = {"COLOUR=red", NULL};
    *s = (struct seen){.path = "/tmp/firesteel-test-XXXXXX"};
    int fd = mkstemp(s->path);
    CHECK(fd >= 0 && write(fd, script, strlen(script)) > 0 && fchmod(fd, 0700) == 0);
    close(fd);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return launch_start(&s->launch,
        &(struct launch_spec){
            .worker = s->path, .size = 9, .first = 5, .n = 2, .settings = settings},
        e);
}

static void wait_for(struct seen *s, int gone)
{
    struct pollfd fds[2 * LAUNCH_POLLS];
    int64_t deadline = clock_mono() + 60 * CLOCK_SEC;
    while (s->gone < gone && clock_mono() < deadline) {
        launch_polls(&s->launch, false, fds);
        if (poll(fds, ARRAY_LEN(fds), 100) <= 0)
            memset(fds, 0, sizeof fds);
        launch_hear(&s->launch, fds, &(struct launch_sink){s, on_bytes, on_gone});
    }
    CHECK_INT(s->gone, gone);
}

static void finish(struct seen *s)
{
    launch_close(&s->launch);
    unlink(s->path);
    for (int i = 0; i < 2; i++)
        for (int c = 0; c < CHANNELS; c++)
            buf_done(&s->bytes[i][c]);
}

TEST(a_rank_has_its_channels_and_its_number)
{
    err e;
    struct seen s;
    CHECK_OK(start(&s,
                 "#!/bin/sh\necho out; echo err >&2; echo link >&3; echo pmi >&4\n"
                 "echo \"$1 $PMI_RANK of $PMI_SIZE at $PMI_FD, $COLOUR\"; cat <&0; read line <&3\n"
                 "echo \"$line\"; exit 3\n",
                 &e) == 0,
        e);
    for (int rank = 5; rank < 7; rank++)
        CHECK_INT((int)write(launch_fd(&s.launch, rank, CHANNEL_LINK), "hello\n", 6), 6);
    wait_for(&s, 2);
    CHECK_STR(s.bytes[0][CHANNEL_STDOUT].data, "out\n--rank 5 of 9 at 4, red\nhello\n");
    CHECK_STR(s.bytes[1][CHANNEL_STDOUT].data, "out\n--rank 6 of 9 at 4, red\nhello\n");
    CHECK_STR(s.bytes[1][CHANNEL_STDERR].data, "err\n");
    CHECK_STR(s.bytes[1][CHANNEL_LINK].data, "link\n");
    CHECK_STR(s.bytes[0][CHANNEL_PMI].data, "pmi\n");
    buf how = {0};
    launch_describe(s.status[0], &how);
    CHECK_STR(how.data, "ended with exit code 3");
    buf_done(&how);
    CHECK(!launch_any_left(&s.launch));
    finish(&s);
}

// A rank has only its own descriptors: neither the other rank's nor ours.
TEST(a_rank_inherits_nothing_else)
{
    err e;
    struct seen s;
    int own = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK_OK(start(&s, "#!/bin/sh\nexec ls /proc/self/fd\n", &e) == 0, e);
    wait_for(&s, 2);
    // the last one is the folder that ls reads
    CHECK_STR(s.bytes[0][CHANNEL_STDOUT].data, "0\n1\n2\n3\n4\n5\n");
    CHECK_STR(s.bytes[1][CHANNEL_STDOUT].data, "0\n1\n2\n3\n4\n5\n");
    close(own);
    finish(&s);
}

TEST(an_end_by_a_signal_is_told)
{
    err e;
    struct seen s;
    CHECK_OK(
        start(&s, "#!/bin/sh\n[ $PMI_RANK = 6 ] && kill -9 $$\nexec sleep 1000\n", &e) == 0, e);
    wait_for(&s, 1);
    buf how = {0};
    launch_describe(s.status[1], &how);
    CHECK_STR(how.data, "was ended by signal 9 (Killed)");
    CHECK(launch_any_left(&s.launch));
    buf_done(&how);
    finish(&s);
}

TEST(closing_leaves_nothing)
{
    err e;
    struct seen s;
    CHECK_OK(start(&s, "#!/bin/sh\ntrap '' TERM\nsleep 1000 &\necho $!\nwait\n", &e) == 0, e);
    struct pollfd fds[2 * LAUNCH_POLLS];
    while (!s.bytes[0][CHANNEL_STDOUT].len || !s.bytes[1][CHANNEL_STDOUT].len) {
        launch_polls(&s.launch, false, fds);
        poll(fds, ARRAY_LEN(fds), 100);
        launch_hear(&s.launch, fds, &(struct launch_sink){&s, on_bytes, on_gone});
    }
    pid_t child = (pid_t)atoi(s.bytes[0][CHANNEL_STDOUT].data), group = s.launch.ranks[0].pid;
    CHECK(child > 1 && kill(child, 0) == 0);
    launch_close(&s.launch);
    CHECK(kill(child, 0) < 0 && errno == ESRCH);
    CHECK(kill(-group, 0) < 0 && errno == ESRCH);
    finish(&s);
}

TEST(a_program_that_is_not_there_is_named)
{
    err e;
    launch l;
    static const char *const none[] = {NULL};
    CHECK_INT(
        launch_start(&l,
            &(struct launch_spec){.worker = "/nowhere/worker", .size = 2, .n = 2, .settings = none},
            &e),
        -1);
    CHECK_HAS(e.text, "cannot start /nowhere/worker: there is no such program");
}

int main(void)
{
    return tap_run();
}
