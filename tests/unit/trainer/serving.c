// SPDX-License-Identifier: MIT
// What reads requests for predictions and puts them together, without HTTP.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/support/tap.h"
#include "trainer/serve/batch.h"
#include "trainer/serve/guests.h"
#include "trainer/serve/lanes.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

// The tensor of the first input, or NULL with e; the text comes in pieces of up to `most` bytes.
static tensor *read_in_pieces(const char *text, size_t most, uint32_t seed, err *e)
{
    body *b = body_new();
    tensor *t = NULL;
    int status = 0;
    *e = (err){0};
    for (size_t at = 0, n = strlen(text); at < n && status == 0;) {
        size_t piece = 1 + next_random(&seed) % most;
        piece = piece < n - at ? piece : n - at;
        AUTO_FREE char *copy = mem_dup(text + at, piece); // nothing behind a piece may be read
        status = body_feed(b, copy, piece, e);
        at += piece;
    }
    if (status == 0 && body_end(b, e) == 0)
        t = body_take_tensor(b, json_path(body_frame(b), "inputs[0]"), e);
    body_free(b);
    return t;
}

TEST(a_body_is_the_same_in_any_pieces)
{
    static const char *const texts[] = {
        "{\"id\":\"a\\\"[\",\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[2,3],"
        "\"data\":[[1,-2.5e3, 0.1],[true , 7,1e-7]]}]}",
        "{\"inputs\":[{\"data\":[ 12345678901234567890 , 4 "
        "],\"datatype\":\"UINT64\",\"name\":\"y\","
        "\"shape\":[1,2]}],\"outputs\":[{\"name\":\"data\"}]}",
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"INT8\",\"shape\":[1,2],\"data\":[1,200]}]}",
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"INT8\",\"shape\":[1,2],\"data\":[1,\"a\\\"\"]}"
        "]}",
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"INT8\",\"shape\":[1,2],\"data\":[1,0x2]}]}"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        err whole_e, e;
        tensor *whole = read_in_pieces(texts[i], strlen(texts[i]) * 2, 1, &whole_e);
        for (uint32_t seed = 1; seed < 60; seed++) {
            tensor *t = read_in_pieces(texts[i], 1 + seed % 9, seed, &e);
            CHECK(!t == !whole);
            if (whole && t)
                CHECK(memcmp(t->data, whole->data, tensor_count(t) * sizeof(float)) == 0);
            else
                CHECK_STR(e.text, whole_e.text);
            tensor_free(t);
        }
        CHECK((i < 2) == (whole != NULL));
        tensor_free(whole);
    }
}

TEST(numbers_are_those_of_strtod)
{
    uint32_t seed = 7;
    for (int i = 0; i < 20000; i++) {
        err e = {0};
        char number[64], text[200];
        int digits = 1 + (int)(next_random(&seed) % 25);
        size_t n = 0;
        if (next_random(&seed) % 2)
            number[n++] = '-';
        number[n++] = (char)('1' + next_random(&seed) % 9);
        for (int d = 1, point = (int)(next_random(&seed) % 30); d < digits; d++) {
            if (d == point)
                number[n++] = '.';
            number[n++] = (char)('0' + next_random(&seed) % 10);
        }
        snprintf(number + n, sizeof number - n, "e%d", (int)(next_random(&seed) % 60) - 45);
        snprintf(text, sizeof text,
            "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP64\",\"shape\":[1,1],\"data\":[%s]}]}",
            number);
        tensor *t = read_in_pieces(text, 1000, 1, &e);
        float want = (float)strtod(number, NULL);
        if (want - want == 0)
            CHECK(t && *(float *)t->data == want);
        else
            CHECK(!t && strstr(e.text, "beyond FP32"));
        tensor_free(t);
    }
}

// Batches.

static layer_spec row[] = {{.kind = LAYER_EMBEDDING,
    .own = &(embedding_layer){.entries = 10, .units = 1},
    .name = "table"}};

static model *make_table(void)
{
    err e = {0};
    compile_spec spec = {
        .optimizer = optimizer_default(OPTIMIZER_SGD), .loss = LOSS_MEAN_SQUARED_ERROR};
    model *m = model_new(row, 1, MODEL_SEED, &e);
    CHECK_OK(
        m && model_build(m, 1, (const size_t[]){1}, &e) == 0 && model_compile(m, &spec, &e) == 0,
        e);
    return m;
}

struct asked {
    struct batch_job job; // first
    atomic_int *left;
};

static void on_done(struct batch_job *j)
{
    atomic_fetch_sub(((struct asked *)j)->left, 1);
}

static infer_request *ask_for(const model *m, int index)
{
    err e = {0};
    AUTO_FREE char *text = str_fmt("{\"inputs\":[{\"name\":\"input\",\"datatype\":\"INT64\","
                                   "\"shape\":[1,1],\"data\":[%d]}]}",
        index);
    body *b = body_new();
    infer_request *q = body_feed(b, text, strlen(text), &e) == 0 && body_end(b, &e) == 0
                           ? infer_read(m, b, &e)
                           : NULL;
    CHECK_OK(q, e);
    body_free(b);
    return q;
}

// What is refused after it was read is made here: the table gets shorter meanwhile.
TEST(what_fails_in_a_batch_fails_alone)
{
    enum { N = 4 };
    model *m = make_table();
    const char *const name = "table";
    counts *c = counts_new(&name, 1);
    struct asked asked[N];
    atomic_int left = N;
    for (int i = 0; i < N; i++)
        asked[i] = (struct asked){
            .left = &left, .job = {.m = m, .q = ask_for(m, i == 2 ? 9 : i), .done = on_done}};
    ((embedding_layer *)(uintptr_t)model_layer(m, 0)->own)->entries = 5;
    batcher *b = batch_new(
        &(struct batch_options){.rows = N, .latency_ns = 60 * CLOCK_SEC, .counts = c}, NULL);
    for (int i = 0; i < N; i++)
        batch_add(b, &asked[i].job);
    batch_free(b); // when the last one is done
    CHECK_INT(atomic_load(&left), 0);
    for (int i = 0; i < N; i++) {
        CHECK_INT(asked[i].job.status, i == 2 ? -1 : 0);
        infer_free(asked[i].job.q);
    }
    CHECK(strstr(asked[2].job.e.text, "from 0 to 4, but row 0 of x holds 9"));
    counts_free(c);
    model_free(m);
}

// Lanes.

static struct lane_place *gone[8];
static size_t gone_n;

static void go(void *who)
{
    gone[gone_n++] = who;
}

TEST(the_last_to_come_gets_a_lane_first)
{
    lanes *l = lanes_new(&(struct lanes_options){.most = 2,
        .idle_ns = 3600 * CLOCK_SEC,
        .ride_ns = 3600 * CLOCK_SEC,
        .wait_ns = 3600 * CLOCK_SEC,
        .go = go});
    struct lane_place p[5] = {0};
    gone_n = 0;
    for (size_t i = 0; i < ARRAY_LEN(p); i++) {
        p[i].who = &p[i];
        CHECK(lanes_take(l, &p[i]) == (i < 2));
        if (i >= 2)
            lanes_wait(l, &p[i]);
    }
    CHECK(lanes_take(l, &p[0])); // who has one keeps it
    CHECK_INT(gone_n, 0);
    lanes_leave(l, &p[0]);
    CHECK(gone_n == 1 && gone[0] == &p[4] && lanes_take(l, &p[4]) && !lanes_take(l, &p[0]));
    lanes_leave(l, &p[3]); // it has left while it waited
    lanes_leave(l, &p[1]);
    CHECK(gone_n == 2 && gone[1] == &p[2]);
    for (size_t i = 0; i < ARRAY_LEN(p); i++)
        lanes_leave(l, &p[i]);
    lanes_free(l);
}

TEST(who_sends_nothing_loses_its_lane)
{
    lanes *l = lanes_new(&(struct lanes_options){.most = 1,
        .idle_ns = -1,
        .ride_ns = 3600 * CLOCK_SEC,
        .wait_ns = 3600 * CLOCK_SEC,
        .go = go});
    struct lane_place a = {.who = &a}, b = {.who = &b};
    gone_n = 0;
    CHECK(lanes_take(l, &a) && !lanes_take(l, &b));
    lanes_wait(l, &b);
    lanes_tick(l);
    CHECK(gone_n == 1 && gone[0] == &b && lanes_take(l, &b) && !lanes_take(l, &a));
    lanes_wait(l, &a);
    lanes_open(l);
    CHECK(gone_n == 2 && gone[1] == &a && lanes_take(l, &a));
    lanes_leave(l, &a);
    lanes_leave(l, &b);
    lanes_free(l);
}

// Guests.

static void *let_go_of;

static void note_let_go(void *arg, void *what)
{
    let_go_of = what;
}

static void nothing(void *arg)
{
}

// Is the other end told that it is over?
static bool is_over(int fd)
{
    char c;
    return recv(fd, &c, 1, MSG_DONTWAIT) == 0;
}

TEST(the_slowest_gives_place_and_is_let_go)
{
    enum { N = 5 };
    int fds[N][2];
    guest *in[N];
    guests *g = guests_new(
        &(struct guests_options){
            .most = 4, .held = 1000, .tick = nothing, .let_go = note_let_go, .arg = NULL},
        NULL);
    let_go_of = NULL;
    for (int i = 0; i < N; i++)
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds[i]) == 0);
    for (int i = 0; i < 3; i++)
        in[i] = guest_enter(g, fds[i][0]);
    guest_turn_to(g, in[0], GUEST_WAITS); // for us: that is not slow
    guest_hold_up(g, in[1], &fds[1]);
    in[3] = guest_enter(g, fds[3][0]);
    CHECK(let_go_of == &fds[1] && is_over(fds[1][1]) && !is_over(fds[0][1]) && !is_over(fds[2][1]));
    in[4] = guest_enter(g, fds[4][0]);
    CHECK(is_over(fds[2][1]) && !is_over(fds[3][1]) && !is_over(fds[4][1]));
    let_go_of = NULL;
    guest_hold_up(g, in[2], &fds[2]); // it was shown out before
    CHECK(let_go_of == &fds[2] && guests_shown_out(g) == 2 && guests_count(g) == N);
    for (int i = 0; i < N; i++)
        guest_leave(g, in[i], false);
    guests_free(g);
    for (int i = 0; i < N; i++) {
        close(fds[i][0]);
        close(fds[i][1]);
    }
}

TEST(who_holds_much_for_long_gives_place)
{
    enum { N = 3 };
    int fds[N][2];
    guest *in[N];
    guests *g = guests_new(
        &(struct guests_options){.most = 100, .held = 1000, .tick = nothing, .let_go = note_let_go},
        NULL);
    for (int i = 0; i < N; i++) {
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds[i]) == 0);
        in[i] = guest_enter(g, fds[i][0]);
        guest_turn_to(g, in[i], i == 2 ? GUEST_WAITS : GUEST_SENDS);
        guest_hold(g, in[i], i == 1 ? 100 : 900);
    }
    CHECK(!is_over(fds[0][1])); // it has only just come
    int64_t until = clock_mono() + 60 * CLOCK_SEC;
    while (!is_over(fds[0][1]) && clock_mono() < until) {
        usleep(100 * 1000);
        guest_hold(g, in[0], 900);
    }
    CHECK(is_over(fds[0][1]) && !is_over(fds[1][1]) && !is_over(fds[2][1]));
    for (int i = 0; i < N; i++) {
        guest_leave(g, in[i], false);
        close(fds[i][0]);
        close(fds[i][1]);
    }
    guests_free(g);
}

TEST(who_is_refused_early_may_go_on_sending)
{
    int fds[2];
    char bytes[5000] = {0};
    guests *g = guests_new(
        &(struct guests_options){.most = 4, .held = 1000, .tick = nothing, .let_go = note_let_go},
        NULL);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    guest *who = guest_enter(g, fds[0]);
    guest_leave(g, who, true);
    close(fds[0]);
    CHECK(is_over(fds[1])); // nothing more comes
    for (int i = 0; i < 200; i++)
        CHECK(send(fds[1], bytes, sizeof bytes, MSG_NOSIGNAL) == sizeof bytes);
    close(fds[1]);
    guests_free(g);
}

int main(void)
{
    return tap_run();
}
