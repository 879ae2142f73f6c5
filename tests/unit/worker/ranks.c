// SPDX-License-Identifier: MIT
// Which of several failures is the cause, whatever the order in which they are heard.
#include "base/clock.h"
#include "base/mem.h"
#include "tests/support/tap.h"
#include "trainer/dist/job/peers.h"

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

// MPI aborts a rank that has lost a peer.
TEST(a_rank_that_aborts_may_only_have_lost_a_peer)
{
    struct run r;
    struct job_result result;
    begin(&r, &result);
    ranks_gone(&r, 1, SIGABRT);
    CHECK(!r.failed);
    hear(&r, 2, MESSAGE_FAILURE, "trainer.lua:3: no such column");
    CHECK_STR(r.why.text, "rank 2 failed: trainer.lua:3: no such column");
    end(&r);

    begin(&r, &result);
    ranks_gone(&r, 1, SIGABRT);
    ranks_gone(&r, 0, SIGSEGV);
    CHECK_HAS(r.why.text, "rank 0 was ended by signal 11");
    end(&r);

    begin(&r, &result);
    ranks_gone(&r, 1, SIGABRT);
    later(&r, 10 * CLOCK_SEC);
    CHECK_HAS(r.why.text, "rank 1 was ended by signal 6");
    end(&r);
}

TEST(only_rank_0_of_an_elastic_job_commits)
{
    for (int elastic = 0; elastic < 2; elastic++) {
        struct run r;
        struct job_result result;
        struct elastic state = {.np = job.np};
        begin(&r, &result);
        r.elastic = elastic ? &state : NULL;
        hear(&r, elastic ? 1 : 0, MESSAGE_COMMIT, "state");
        CHECK_INT(r.why.code, ERR_INVALID);
        CHECK_HAS(r.why.text, "sent a commit; only rank 0 of an elastic job may");
        CHECK_INT(state.commit.len, 0);
        CHECK_INT(state.commits, 0);
        end(&r);
    }
}

static void note_text(void *out, int stream, const char *bytes, size_t n)
{
    buf_add(out, bytes, n);
}

// Of what a rank says before a failure all is shown, of what it says after it nothing.
TEST(after_a_failure_no_output_is_shown)
{
    AUTO_BUF shown = {0};
    struct run r;
    struct job_result result;
    struct job here = {.np = 3, .sink = {.ctx = &shown, .text = note_text}};
    begin(&r, &result);
    r.job = &here;
    hear(&r, 0, MESSAGE_STDOUT, "one\ntwo");
    hear(&r, 2, MESSAGE_FAILURE, "it failed");
    CHECK_STR(buf_cstr(&shown), "[1,0]<stdout>:one\n");
    hear(&r, 0, MESSAGE_STDOUT, " words\n");
    hear(&r, 1, MESSAGE_STDERR, "broken pipe\n");
    ranks_hear(&r, 1, CHANNEL_STDOUT, "late\n", 5);
    ranks_gone(&r, 0, SIGKILL);
    ranks_show_rest(&r);
    CHECK_STR(buf_cstr(&shown), "[1,0]<stdout>:one\n");
    end(&r);
}

int main(void)
{
    return tap_run();
}
