// SPDX-License-Identifier: MIT
// Keys that came before the kernel had done what an earlier one asked for. "b Enter x" in one
// packet, as a slow line sends it, must not type the x into the cell that was there before.
#include "base/clock.h"
#include "base/mem.h"
#include "tui/view/view.h"

#include <string.h>

enum { PATIENCE_MS = 2000 }; // then a kernel is stuck, and a person must be able to leave

struct typed {
    key key; // 0: pasted text
    char *text;
    size_t n;
};

static bool is_late(const bench *b)
{
    return clock_mono() - b->held_at >= PATIENCE_MS * CLOCK_MS;
}

static bool holds(const bench *b)
{
    bool open = b->asked > 0 || b->seen < b->made;
    return b->client && open && !(b->n_held && is_late(b));
}

static void hold(bench *b, struct typed one)
{
    if (b->n_held == 0)
        b->held_at = clock_mono();
    b->held = mem_resize(b->held, b->n_held + 1, sizeof *b->held);
    b->held[b->n_held++] = one;
}

void bench_key(bench *b, key k)
{
    if (b->n_held || holds(b))
        hold(b, (struct typed){.key = k});
    else
        bench_key_now(b, k);
}

void bench_paste(bench *b, const char *words, size_t n)
{
    if (b->n_held || holds(b))
        hold(b, (struct typed){.text = mem_strndup(words, n), .n = n});
    else
        bench_paste_now(b, words, n);
}

int typeahead_wait_ms(const bench *b)
{
    if (b->n_held == 0)
        return -1;
    int64_t left = b->held_at + PATIENCE_MS * CLOCK_MS - clock_mono();
    return holds(b) && left > 0 ? (int)(left / CLOCK_MS) + 1 : 0;
}

// One after the other, since each may make the next one wait again.
bool bench_go_on(bench *b)
{
    if (b->n_held == 0 || holds(b))
        return false;
    struct typed one = b->held[0];
    memmove(b->held, b->held + 1, --b->n_held * sizeof *b->held);
    if (is_late(b))
        b->asked = 0, b->made = b->seen;
    if (one.key)
        bench_key_now(b, one.key);
    else
        bench_paste_now(b, one.text, one.n);
    free(one.text);
    return true;
}

void typeahead_free(bench *b)
{
    for (size_t i = 0; i < b->n_held; i++)
        free(b->held[i].text);
    free(b->held);
}
