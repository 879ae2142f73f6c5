// SPDX-License-Identifier: MIT
#include "cli/workbench/looking.h"
#include "tests/support/tap.h"

#include <time.h>

struct told {
    loop *l;
    int times;
};

static void found(void *arg, cJSON *outside)
{
    struct told *t = arg;
    t->times++;
    cJSON_Delete(outside);
    loop_stop(t->l);
}

static looking *begin(struct told *t)
{
    err e = {0};
    t->l = loop_new(&e);
    CHECK_OK(t->l, e);
    looking *k = looking_new(t->l, found, t);
    looking_start(k, cJSON_CreateObject());
    return k;
}

TEST(what_was_found_is_told_on_the_loop)
{
    struct told t = {0};
    looking *k = begin(&t);
    loop_run(t.l);
    CHECK_INT(t.times, 1);
    looking_free(k);
    loop_free(t.l);
}

// A loop that is freed runs what was posted to it, when the maker of the look is gone.
TEST(nothing_is_told_after_its_end)
{
    struct told t = {0};
    looking *k = begin(&t);
    nanosleep(&(struct timespec){.tv_nsec = 200 * 1000 * 1000}, NULL); // it looks, and posts
    looking_free(k);
    loop_free(t.l);
    CHECK_INT(t.times, 0);
}

int main(void)
{
    return tap_run();
}
