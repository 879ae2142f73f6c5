// SPDX-License-Identifier: MIT
#include "trainer/nn/tempo.h"
#include "tests/support/tap.h"

// Runs n steps that cost `together` or `alone`; returns how many ran alone.
static int run(tempo *t, int n, int64_t together, int64_t alone)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        count += t->alone;
        tempo_step(t, t->alone ? alone : together);
    }
    return count;
}

TEST(the_faster_way_is_kept)
{
    tempo t = {0};
    CHECK(run(&t, 10000, 50, 100) < 600);
    tempo other = {0};
    CHECK(run(&other, 10000, 100, 50) > 9400);
}

TEST(a_few_percent_are_not_worth_another_core)
{
    tempo t = {0};
    CHECK(run(&t, 10000, 95, 100) > 9400);
}

TEST(a_change_is_noticed)
{
    tempo t = {0};
    run(&t, 10000, 50, 100);
    CHECK(!t.alone);
    run(&t, 5000, 300, 100); // another program takes the other core
    CHECK(t.alone);
    run(&t, 10000, 50, 100); // and gives it back
    CHECK(!t.alone);
}

TEST(a_cold_first_window_is_not_believed)
{
    tempo t = {0};
    run(&t, 32, 1000, 100);
    CHECK(run(&t, 3000, 50, 100) < 400);
}

TEST(a_disturbed_window_is_forgotten)
{
    tempo t = {0};
    run(&t, 5024, 50, 80);
    CHECK(run(&t, 32, 5000, 80) == 0);
    CHECK(run(&t, 3000, 50, 80) <= 2 * 32);
    run(&t, 4 * 32, 5000, 80); // it lasts, and is over
    CHECK(run(&t, 3000, 50, 80) < 500);
}

int main(void)
{
    return tap_run();
}
