// SPDX-License-Identifier: MIT
// Reads the JSON of a list or a Table while it arrives: each of its items (or rows) is parsed and
// handed on as soon as it is whole, so that no more than one of them is in memory. A listing
// belongs to its maker.
//
//   {"kind": "Table", …, "columnDefinitions": […], "rows": [ {…}, {…}, … ]}
//    └────────────────── the frame ──────────────────────┘   └ handed on ┘
#pragma once
#include "base/json/json.h"

typedef struct listing listing;

enum listing_form {
    LISTING_WHOLE, // objects as they come
    LISTING_SHOWN, // without what no table, state or sickness is made of
};

// fn takes the entry (a row's cells and object are in it). Non-zero ends the reading with that.
listing *listing_new(
    enum listing_form form, size_t most, int (*fn)(void *arg, cJSON *entry), void *arg);
void listing_free(listing *l); // NULL is fine
// For the next page, or the same one again.
void listing_restart(listing *l);
// 0; what fn returned; -1 with *e: ERR_INVALID for what is no JSON, ERR_LIMIT for an entry of more
// than `most` bytes.
int listing_feed(listing *l, const char *bytes, size_t n, err *e);
// What came before the entries, as an object: it has the columns of a Table, since servers write
// them first. New; NULL while no entry has begun.
cJSON *listing_head(const listing *l);
// The list with an empty array in the place of its entries; NULL with *e when it is not whole. New.
cJSON *listing_end(listing *l, err *e);
