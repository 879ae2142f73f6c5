// SPDX-License-Identifier: MIT
// The recent changes of a store, oldest first, each held with its snapshots until it is trimmed.
// Positions count from the first change ever made, so a reader's position stays valid.
#pragma once
#include "k8s/sandbox/store/store.h"

struct history {
    struct store_event *entries; // entries[head …] are kept
    size_t head, n, cap;
    uint64_t first;  // position of entries[head]
    int64_t trimmed; // the version of the newest entry that was dropped
    size_t limit;
};

void history_done(struct history *h);
// Adds an entry; takes its own references. Drops the oldest entries beyond the limit, but none at
// or after `keep`.
void history_add(struct history *h, struct store_event ev, uint64_t keep);
static inline uint64_t history_end(const struct history *h)
{
    return h->first + h->n;
}
// The entry at a position; first <= position < end.
static inline const struct store_event *history_at(const struct history *h, uint64_t position)
{
    return &h->entries[h->head + (position - h->first)];
}
// The position of the first change after version `since`; false when later changes were already
// dropped.
bool history_after(const struct history *h, int64_t since, uint64_t *position);
