// SPDX-License-Identifier: MIT
// The PMI-1 server: its answers to libmpich's requests, and the requests that it refuses.
#include "trainer/dist/pmi.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/support/tap.h"

enum { RANKS = 3 };
#define INIT "cmd=init pmi_version=1 pmi_subversion=1\n"

// What was sent to each rank.
struct said {
    buf to[RANKS];
};

static int say(void *ctx, int rank, const char *line, size_t n, err *e)
{
    buf_add(&((struct said *)ctx)->to[rank], line, n);
    return 0;
}

static int hear(pmi *p, int rank, const char *text, err *e)
{
    return pmi_hear(p, rank, text, strlen(text), e);
}

static void said_done(struct said *s)
{
    for (int i = 0; i < RANKS; i++)
        buf_done(&s->to[i]);
}

// Checks the answer to one rank that has sent `text` after its start.
static void answers(const char *text, const char *answer)
{
    err e;
    struct said s = {0};
    pmi *p = pmi_new(RANKS, 2, (struct pmi_answers){&s, say});
    CHECK_OK(hear(p, 1, INIT, &e) == 0, e);
    CHECK_STR(s.to[1].data, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    buf_clear(&s.to[1]);
    CHECK_OK(hear(p, 1, text, &e) == 0, e);
    CHECK_STR(buf_cstr(&s.to[1]), answer);
    CHECK_INT((int)s.to[0].len, 0);
    pmi_free(p);
    said_done(&s);
}

static void refuses(const char *text, const char *why)
{
    err e;
    struct said s = {0};
    pmi *p = pmi_new(RANKS, 2, (struct pmi_answers){&s, say});
    CHECK_INT(hear(p, 1, text, &e), -1);
    CHECK_HAS(e.text, why);
    pmi_free(p);
    said_done(&s);
}

TEST(libmpich_gets_its_answers)
{
    answers("cmd=get_maxes\n", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
    answers("cmd=get_appnum\n", "cmd=appnum appnum=0\n");
    answers("cmd=get_universe_size\n", "cmd=universe_size size=3\n");
    answers("cmd=get_my_kvsname\n", "cmd=my_kvsname kvsname=job\n");
    answers("cmd=finalize\n", "cmd=finalize_ack\n");
    answers("cmd=get kvsname=job key=PMI_process_mapping\n",
        "cmd=get_result rc=0 msg=success value=(vector,(0,1,2),(1,1,1))\n");
    answers("cmd=get kvsname=job key=no\n", "cmd=get_result rc=-1 msg=not_found value=unknown\n");
}

TEST(a_value_is_what_was_put_last)
{
    answers("cmd=put kvsname=job key=a value=1\ncmd=put kvsname=job key=a value=x y=z\n"
            "cmd=get kvsname=job key=a\n",
        "cmd=put_result rc=0 msg=success\ncmd=put_result rc=0 msg=success\n"
        "cmd=get_result rc=0 msg=success value=x y=z\n");
}

TEST(hosts_are_mapped_as_ranks_fill_them)
{
    static const struct {
        int size, slots;
        const char *text;
    } cases[] = {
        {4, 0, "(vector,(0,1,4))"},
        {4, 2, "(vector,(0,2,2))"},
        {5, 2, "(vector,(0,2,2),(2,1,1))"},
        {3, 1, "(vector,(0,3,1))"},
        {2, 8, "(vector,(0,1,2))"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *text = pmi_mapping(cases[i].size, cases[i].slots);
        CHECK_STR(text, cases[i].text);
    }
}

TEST(a_barrier_opens_when_all_are_in)
{
    err e;
    struct said s = {0};
    pmi *p = pmi_new(RANKS, 0, (struct pmi_answers){&s, say});
    for (int round = 0; round < 2; round++) {
        for (int rank = 0; rank < RANKS; rank++) {
            CHECK_INT(s.to[0].data && strstr(s.to[0].data, "barrier_out"), 0);
            CHECK_OK(round || hear(p, rank, INIT, &e) == 0, e);
            CHECK_OK(hear(p, rank, "cmd=barrier_in\n", &e) == 0, e);
        }
        for (int rank = 0; rank < RANKS; rank++) {
            CHECK(str_ends(s.to[rank].data, "cmd=barrier_out\n"));
            buf_clear(&s.to[rank]);
        }
    }
    pmi_free(p);
    said_done(&s);
}

TEST(pieces_make_lines)
{
    err e;
    struct said s = {0};
    pmi *p = pmi_new(RANKS, 0, (struct pmi_answers){&s, say});
    for (const char *at = INIT "cmd=get_appnum\n"; *at; at++)
        CHECK_OK(pmi_hear(p, 0, at, 1, &e) == 0, e);
    CHECK(str_ends(s.to[0].data, "rc=0\ncmd=appnum appnum=0\n"));
    pmi_free(p);
    said_done(&s);
}

TEST(what_is_not_the_protocol_ends_the_job)
{
    refuses("\n", "rank 1 sent what is not PMI-1: no cmd (\"\")");
    refuses("GET / HTTP/1.1\n", "rank 1 sent what is not PMI-1: no cmd (\"GET / HTTP/1.1\")");
    refuses("cmd=get_maxes\n", "get_maxes before init or after finalize");
    refuses("cmd=init pmi_version=2 pmi_subversion=0\n", "version 2 of PMI, and not 1");
    refuses(INIT "cmd=spawn\n", "no command is named spawn");
    refuses(INIT "cmd=finalize\ncmd=barrier_in\n", "barrier_in before init or after finalize");
    refuses(INIT "cmd=barrier_in\ncmd=barrier_in\n", "it is in the barrier already");
    refuses(INIT "cmd=put kvsname=job value=x\n", "no key");
    refuses(INIT "cmd=put kvsname=job key=x\n", "no value");
    refuses(INIT "cmd=get kvsname=other key=x\n", "no space of keys named other");
    refuses(INIT "cmd=put kvsname=job key=PMI_process_mapping value=x\n", "the driver's to say");
    refuses(INIT "cmd=abort exitcode=15\n", "rank 1 gave up: MPI has ended it with code 15");
}

static void refuses_long(const char *before, size_t n, const char *after, const char *why)
{
    AUTO_BUF text = {0};
    buf_str(&text, INIT);
    buf_str(&text, before);
    for (size_t i = 0; i < n; i++)
        buf_char(&text, 'x');
    buf_str(&text, after);
    refuses(text.data, why);
}

TEST(lengths_are_bounded)
{
    refuses_long("cmd=get kvsname=", 256, " key=a\n", "kvsname of 256 bytes is longer than 255");
    refuses_long("cmd=get kvsname=job key=", 64, "\n", "key of 64 bytes is longer than 63");
    refuses_long("cmd=put kvsname=job key=a value=", 1024, "\n", "value of 1024 bytes is longer");
    refuses_long("cmd=", 40, "\n", "cmd of 40 bytes is longer than 31");
    refuses_long("", PMI_LINE_MAX + 1, "", "a line longer than 2048 bytes");
}

TEST(keys_are_bounded)
{
    err e;
    struct said s = {0};
    pmi *p = pmi_new(1, 0, (struct pmi_answers){&s, say});
    CHECK_OK(hear(p, 0, INIT, &e) == 0, e);
    int i = 0, result = 0;
    for (; result == 0 && i < 1000; i++) {
        AUTO_FREE char *line = str_fmt("cmd=put kvsname=job key=k%d value=v\n", i);
        result = hear(p, 0, line, &e);
    }
    CHECK_INT(result, -1);
    CHECK_INT(i, PMI_KEYS_PER_RANK);
    CHECK_HAS(e.text, "more than 256 keys for each rank");
    pmi_free(p);
    said_done(&s);
}

int main(void)
{
    return tap_run();
}
