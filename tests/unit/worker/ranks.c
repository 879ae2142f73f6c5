// SPDX-License-Identifier: MIT
// Which of several failures is the cause, whatever the order in which they are heard.
#include "base/clock.h"
#include "base/mem.h"
#include "tests/support/tap.h"
#include "trainer/dist/peers.h"

#include <signal.h>
#include <string.h>

static const struct driver_options options = {.cores = 3};
static const struct job job = {.np = 3};

static void begin(struct run *r, struct job_result *result)
{
    *result = (struct job_result){.np = job.np, .failed_rank = -1, .exit_code = -1};
    *r = (struct run){.job = &job, .result = result, .options = &options};
    ranks_init(r);
}

static void end(struct run *r)
{
    ranks_done(r);
    buf_done(&r->result->failure);
}

static void hear(struct run *r, int rank, enum message_kind kind, const char *text)
{
    AUTO_BUF bytes = {0};
    message_put(&bytes, kind, text, strlen(text));
    ranks_hear(r, rank, CHANNEL_LINK, bytes.data, bytes.len);
}

// As if so much time had passed.
static void later(struct run *r, int64_t ns)
{
    r->suspicion.since -= ns;
    ranks_look(r);
}

TEST(a_killed_rank_is_the_cause_of_what_its_peers_said_before)
{
    struct run r;
    struct job_result result;
    begin(&r, &result);
    hear(&r, 0, MESSAGE_BEREFT, "MPI broadcast: Other MPI error\ntraceback");
    ranks_look(&r);
    CHECK(!r.failed);
    ranks_gone(&r, 2, SIGKILL);
    CHECK(r.failed);
    CHECK_STR(r.why.text, "rank 2 was ended by signal 9 (Killed) before it had a result");
    CHECK_INT(result.failed_rank, -1);
    CHECK_INT(result.failure.len, 0);
    later(&r, 10 * CLOCK_SEC);
    CHECK_INT(result.failed_rank, -1);
    end(&r);
}

TEST(an_error_of_its_own_is_the_cause_of_what_its_peers_said_before)
{
    struct run r;
    struct job_result result;
    begin(&r, &result);
    hear(&r, 1, MESSAGE_BEREFT, "MPI allreduce: Other MPI error");
    hear(&r, 0, MESSAGE_BEREFT, "MPI allreduce: Other MPI error");
    hear(&r, 2, MESSAGE_FAILURE, "trainer.lua:3: no such column\ntraceback");
    CHECK(r.failed);
    CHECK_STR(r.why.text, "rank 2 failed: trainer.lua:3: no such column");
    CHECK_INT(result.failed_rank, 2);
    CHECK_STR(buf_cstr(&result.failure), "trainer.lua:3: no such column\ntraceback");
    end(&r);
}

TEST(without_a_better_cause_the_first_word_counts)
{
    struct run r;
    struct job_result result;
    begin(&r, &result);
    hear(&r, 1, MESSAGE_BEREFT, "MPI barrier: timed out\ntraceback");
    hear(&r, 0, MESSAGE_BEREFT, "MPI barrier: Other MPI error");
    later(&r, 0);
    CHECK(!r.failed);
    later(&r, 10 * CLOCK_SEC);
    CHECK(r.failed);
    CHECK_STR(r.why.text, "rank 1 failed: MPI barrier: timed out");
    CHECK_INT(result.failed_rank, 1);
    CHECK_STR(buf_cstr(&result.failure), "MPI barrier: timed out\ntraceback");
    end(&r);
}

int main(void)
{
    return tap_run();
}
