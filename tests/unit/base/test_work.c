// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/mem.h"
#include "base/work.h"
#include "tests/support/tap.h"

#include <math.h>
#include <pthread.h>

static const int64_t second = CLOCK_SEC;

static const char *words(struct work *w, int64_t now, buf *out)
{
    struct work_state s = work_look(w, now);
    buf_clear(out);
    work_words(&s, out);
    return buf_cstr(out);
}

// Steps of n bytes each fifth of a second; returns the time after them.
static int64_t steps(struct work *w, int64_t now, int times, int64_t n)
{
    for (int i = 0; i < times; i++) {
        now += second / 5;
        work_step(w, n);
        work_look(w, now);
    }
    return now;
}

TEST(what_is_left_is_said_only_when_it_can_be)
{
    struct work w;
    work_begin(&w, "push a", WORK_BYTES, "layers");
    int64_t now = w.began;
    work_total(&w, 100000000);
    struct work_state s = work_look(&w, now);
    CHECK(isnan(s.rate) && isnan(s.left));
    now = steps(&w, now, 5, 2000000); // a second, 10 MB/s
    s = work_look(&w, now + 1);
    CHECK_NEAR(s.rate, 10e6, 1e6);
    CHECK(isnan(s.left)); // too early
    now = steps(&w, now, 10, 2000000);
    s = work_look(&w, now + 1);
    CHECK_NEAR(s.rate, 10e6, 1e5);
    CHECK_NEAR(s.left, 7, 0.2);
    now = steps(&w, now, 50, 400000); // slower by now: 2 MB/s
    s = work_look(&w, now + 1);
    CHECK(s.rate < 3e6 && s.rate > 2e6);
    s = work_look(&w, now + 4 * second); // nothing moves
    CHECK(isnan(s.rate) && isnan(s.left));
    CHECK_NEAR(s.idle, 4, 0.1);
}

TEST(what_was_there_makes_no_speed)
{
    struct work w;
    work_begin(&w, "pull a", WORK_BYTES, "layers");
    int64_t now = w.began;
    work_total(&w, 1000000000);
    work_skip(&w, 900000000);
    now = steps(&w, now, 15, 200000);
    struct work_state s = work_look(&w, now + 1);
    CHECK_NEAR(s.rate, 1e6, 1e4);
    CHECK_NEAR(s.left, 97, 1);
    work_skip(&w, -900000000); // it was of no use
    work_step(&w, -3000000);
    s = work_look(&w, now + second / 5);
    CHECK_INT(s.done, 0);
    CHECK(isnan(s.rate)); // less than before: it begins anew
}

TEST(a_phase_begins_at_nothing)
{
    struct work w;
    work_begin(&w, "build a", WORK_BYTES, "layers");
    work_phase(&w, "hashing", WORK_BYTES, 1000);
    int64_t now = steps(&w, w.began, 15, 10);
    work_phase(&w, "compressing", WORK_BYTES, 2000);
    now = steps(&w, now, 5, 100);
    struct work_state s = work_look(&w, now + 1);
    CHECK_STR(s.phase, "compressing");
    CHECK_INT(s.done, 500);
    CHECK_INT(s.total, 2000);
    work_step(&w, 5000); // more than was thought
    s = work_look(&w, now + 2);
    CHECK_INT(s.total, s.done);
}

TEST(words_say_amount_speed_rest_and_parts)
{
    struct work w;
    AUTO_BUF out = {0};
    work_begin(&w, "push a", WORK_BYTES, "layers");
    CHECK_STR(words(&w, w.began + 4 * second, &out), "for 4.0s");
    work_begin(&w, "push a", WORK_BYTES, "layers");
    work_total(&w, 120000000);
    work_parts(&w, 9);
    work_skip(&w, 10000000);
    work_part(&w, true);
    int64_t now = steps(&w, w.began, 15, 2000000);
    CHECK_STR(words(&w, now, &out), "40.0/120.0 MB, 10.0 MB/s, 8.0s left, 1/9 layers, 1 cached");
    CHECK_STR(words(&w, now + 5 * second, &out),
        "40.0/120.0 MB, nothing new for 5.0s, 1/9 layers, 1 cached");
    work_begin(&w, "clean a", WORK_ITEMS, "objects");
    work_total(&w, 300);
    now = steps(&w, w.began, 15, 10);
    CHECK_STR(words(&w, now, &out), "150/300 objects, 50/s, 3.0s left");
    work_begin(&w, "read a", WORK_BYTES, NULL);
    work_phase(&w, "hashing", WORK_BYTES, 0);
    now = steps(&w, w.began, 15, 100);
    CHECK_STR(words(&w, now, &out), "hashing 1.5 KB, 500 B/s");
}

TEST(the_end_has_one_line)
{
    AUTO_BUF out = {0};
    work_result(&(struct work_state){.unit = WORK_BYTES,
                    .noun = "layers",
                    .done = 41000000,
                    .parts = 5,
                    .cached = 2,
                    .elapsed = 1.2},
        &out);
    CHECK_STR(buf_cstr(&out), "41.0 MB in 1.2s, 5 layers, 2 cached");
}

TEST(bytes_are_said_in_steps_of_a_thousand)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {{0, "0 B"}, {999, "999 B"}, {1000, "1.0 KB"}, {999949, "999.9 KB"},
        {999950, "1.0 MB"}, {41234567, "41.2 MB"}, {1240000000, "1.24 GB"}, {-5, "-5 B"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF out = {0};
        work_bytes_text(&out, cases[i].bytes);
        CHECK_STR(buf_cstr(&out), cases[i].text);
    }
}

static void *count(void *arg)
{
    for (int i = 0; i < 100000; i++)
        work_step(arg, 1);
    return NULL;
}

TEST(threads_count_without_a_loss)
{
    struct work w;
    pthread_t threads[4];
    work_begin(&w, "a", WORK_ITEMS, NULL);
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, count, &w);
    for (int i = 0; i < 100; i++)
        work_look(&w, clock_mono());
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(work_look(&w, clock_mono()).done, 400000);
}

TEST(work_that_nobody_shows_costs_nothing)
{
    work_step(NULL, 1);
    work_skip(NULL, 1);
    work_total(NULL, 1);
    work_more(NULL, 1);
    work_phase(NULL, "a", WORK_ITEMS, 1);
    work_parts(NULL, 1);
    work_part(NULL, true);
    CHECK(work_goes_on(NULL) && !work_of(NULL));
}

int main(void)
{
    return tap_run();
}
