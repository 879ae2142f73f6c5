// SPDX-License-Identifier: MIT
// Which ranks wait in vain: what is said of them, and when. Times are made up.
#include "trainer/dist/stall.h"
#include "base/clock.h"
#include "base/mem.h"
#include "tests/support/tap.h"
#include "trainer/dist/message.h"

enum { CHECK_SECONDS = 60 };

static void waits(struct stall *s, int rank, enum stall_channel channel, const char *operation,
    int waited, int now)
{
    AUTO_BUF body = {0};
    stall_put(&body, channel, waited * CLOCK_SEC, 5, operation);
    stall_hear(s, rank, body.data, body.len, now * CLOCK_SEC);
}

static void check_look(struct stall *s, int now, enum stall_verdict verdict, const char *text)
{
    AUTO_BUF said = {0};
    CHECK_INT(stall_look(s, now * CLOCK_SEC, &said), verdict);
    CHECK_STR(buf_cstr(&said), text);
}

static struct stall of(int np, int shutdown)
{
    struct stall s;
    stall_init(&s, np, CHECK_SECONDS * CLOCK_SEC, shutdown * CLOCK_SEC);
    return s;
}

// All of these ranks say now that they have waited since then.
static void wait_on(struct stall *s, const int *ranks, enum stall_channel channel,
    const char *operation, int since, int now)
{
    for (; *ranks >= 0; ranks++)
        waits(s, *ranks, channel, operation, now - since, now);
}
#define RANKS(...) ((const int[]){__VA_ARGS__, -1})

TEST(who_waits_and_who_is_missing_is_told_once)
{
    struct stall s = of(4, 0);
    wait_on(&s, RANKS(0, 2, 3), STALL_GRADIENTS, "ALLREDUCE gradients", 0, 59);
    check_look(&s, 59, STALL_NO, "");
    check_look(&s, 60, STALL_WARN,
        "ranks 0, 2 and 3 have waited 60 s in ALLREDUCE gradients; rank 1 is missing: it is in no "
        "operation with the others");
    check_look(&s, 61, STALL_NO, "");
    wait_on(&s, RANKS(0, 2, 3), STALL_GRADIENTS, "", 70, 70); // rank 1 came
    check_look(&s, 500, STALL_NO, "");
    waits(&s, 1, STALL_COMPARED, "BARRIER", 61, 660);
    check_look(&s, 660, STALL_WARN,
        "rank 1 has waited 61 s in BARRIER; ranks 0, 2 and 3 are missing: they are in no operation "
        "with the others");
    stall_free(&s);
}

TEST(a_slow_operation_of_all_ranks_is_no_stall)
{
    struct stall s = of(2, 0);
    waits(&s, 0, STALL_COMPARED, "BROADCAST variables", 900, 1000);
    waits(&s, 1, STALL_COMPARED, "BROADCAST", 900, 1000); // users may give names to their tensors
    check_look(&s, 1000, STALL_NO, "");
    stall_free(&s);
}

TEST(ranks_in_operations_that_never_meet_are_ended)
{
    struct stall s = of(2, 0);
    waits(&s, 1, STALL_COMPARED, "BARRIER", 60, 70);
    check_look(&s, 70, STALL_WARN,
        "rank 1 has waited 60 s in BARRIER; rank 0 is missing: it is in no operation with the "
        "others");
    waits(&s, 0, STALL_GRADIENTS, "ALLREDUCE gradients", 59, 70);
    check_look(&s, 70, STALL_NO, "");
    check_look(&s, 71, STALL_END,
        "rank 0 has waited 60 s in ALLREDUCE gradients; rank 1 has waited 61 s in BARRIER. So they "
        "wait for ever: every rank must make the same calls");
    stall_free(&s);
}

// What it said last may be over, and it cannot say so.
TEST(a_rank_that_was_stopped_while_it_waited_is_silent)
{
    struct stall s = of(2, 0);
    waits(&s, 0, STALL_GRADIENTS, "ALLREDUCE gradients", 60, 70);
    waits(&s, 1, STALL_COMPARED, "BARRIER", 60, 80);
    check_look(&s, 80, STALL_WARN,
        "rank 1 has waited 60 s in BARRIER; rank 0 is silent: stopped, or its machine is gone");
    stall_free(&s);
}

TEST(waiting_for_ranks_that_have_returned_ends)
{
    struct stall s = of(3, 0);
    stall_done(&s, 0, 0);
    stall_done(&s, 2, 20 * CLOCK_SEC);
    waits(&s, 1, STALL_COMPARED, "ALLREDUCE loss", 79, 79);
    check_look(&s, 79, STALL_NO, ""); // bytes of theirs may be on their way
    check_look(&s, 80, STALL_END,
        "rank 1 has waited 80 s in ALLREDUCE loss; ranks 0 and 2 have returned. So they wait for "
        "ever: every rank must make the same calls");
    stall_free(&s);
}

static void returns(struct stall *s, int rank, uint32_t compared, uint32_t gradients, int now)
{
    char body[12];
    put_u32(body, compared);
    put_u32(body + 4, gradients);
    put_u32(body + 8, 1);
    stall_count(s, rank, body, sizeof body);
    stall_done(s, rank, now * CLOCK_SEC);
}

// waits() says that it is the fifth operation.
TEST(waiting_for_an_operation_that_a_returned_rank_never_began_ends_at_once)
{
    struct stall s = of(3, 0);
    returns(&s, 0, 5, 4, 10); // it has begun the fifth: the others may still come through
    waits(&s, 1, STALL_COMPARED, "ALLREDUCE loss", 1, 11);
    check_look(&s, 11, STALL_NO, "");
    waits(&s, 1, STALL_GRADIENTS, "ALLREDUCE gradients", 1, 12);
    check_look(&s, 12, STALL_END,
        "rank 1 has waited 1 s in ALLREDUCE gradients; rank 0 has returned; rank 2 is missing: it "
        "is in no operation with the others. So they wait for ever: every rank must make the same "
        "calls");
    stall_free(&s);
}

TEST(the_time_to_shut_down)
{
    struct stall s = of(12, 90);
    waits(&s, 11, STALL_START, "hvd.init", 0, 10);
    check_look(&s, 70, STALL_WARN,
        "rank 11 has waited 60 s in hvd.init; ranks 0, 1, 2, 3, 4, 5, 6, 7 and 3 more are missing: "
        "they are in no operation with the others");
    check_look(&s, 100, STALL_END,
        "rank 11 has waited 90 s in hvd.init; ranks 0, 1, 2, 3, 4, 5, 6, 7 and 3 more are missing: "
        "they are in no operation with the others. The job ends "
        "(HOROVOD_STALL_SHUTDOWN_TIME_SECONDS)");
    stall_free(&s);
}

TEST(nobody_looks_when_it_is_switched_off)
{
    struct stall s;
    stall_init(&s, 2, 0, 0);
    waits(&s, 0, STALL_COMPARED, "BARRIER", 1000, 1000);
    check_look(&s, 1000, STALL_NO, "");
    stall_free(&s);
}

TEST(bytes_that_make_no_sense_are_ignored)
{
    struct stall s = of(2, 0);
    char body[200];
    memset(body, 'x', sizeof body);
    body[0] = 0;
    stall_hear(&s, 0, body, 4, 0);
    stall_hear(&s, 0, body, sizeof body, 0);
    body[0] = 3;
    stall_hear(&s, 0, body, 20, 0);
    CHECK(!s.rank[0].waits);
    body[0] = 1;
    stall_hear(&s, 0, body, 20, 0);
    CHECK(s.rank[0].waits);
    CHECK_STR(s.rank[0].operation, "xxxxxxxxxxx");
    stall_free(&s);
}

int main(void)
{
    return tap_run();
}
