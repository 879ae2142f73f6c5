// SPDX-License-Identifier: MIT
// Keys that came before the kernel had carried out an earlier one. If "b Enter x" comes in one
// packet, as on a slow line, the x must not go into the cell that was selected before. Before its
// first word the notebook is shown as in its file, and the cells may have other names than its own.
#include "base/clock.h"
#include "base/mem.h"
#include "tui/bench/bench_private.h"

#include <string.h>

enum { PATIENCE_MS = 2000 }; // after that a kernel is stuck, and a person must be able to leave

static bool is_late(const bench *b)
{
    return clock_mono() - b->held_at >= PATIENCE_MS * CLOCK_MS;
}

static bool holds(const bench *b)
{
    const char *run = fold_run(b->fold);
    bool open = b->asked > 0 || b->seen < b->made || !run || !*run;
    return b->client && open && !(b->n_held && is_late(b));
}

bool typeahead_waits(const bench *b)
{
    return b->n_held || holds(b);
}

bool typeahead_hold(bench *b, key k, const char *words, size_t n)
{
    if (!typeahead_waits(b))
        return false;
    if (b->n_held == 0)
        b->held_at = clock_mono();
    b->held = mem_resize(b->held, b->n_held + 1, sizeof *b->held);
    b->held[b->n_held++] =
        k ? (struct typed){.key = k} : (struct typed){.text = mem_dup_text(words, n), .n = n};
    return true;
}

int typeahead_wait_ms(const bench *b)
{
    if (b->n_held == 0)
        return -1;
    int64_t left = b->held_at + PATIENCE_MS * CLOCK_MS - clock_mono();
    return holds(b) && left > 0 ? (int)(left / CLOCK_MS) + 1 : 0;
}

// One at a time, since each key may make the next one wait again.
bool typeahead_take(bench *b, struct typed *one)
{
    if (b->n_held == 0 || holds(b))
        return false;
    *one = b->held[0];
    if (one->key && bench_is_two_keys(b, one->key)) {
        one->key = FK_ESC;
        b->held[0].key &= ~(key)(KEY_ALT | KEY_ESCAPED);
    } else {
        memmove(b->held, b->held + 1, --b->n_held * sizeof *b->held);
    }
    if (is_late(b))
        b->asked = 0, b->made = b->seen;
    return true;
}

void typeahead_free(bench *b)
{
    for (size_t i = 0; i < b->n_held; i++)
        free(b->held[i].text);
    free(b->held);
}
