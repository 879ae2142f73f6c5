// SPDX-License-Identifier: MIT
// The bytes of an input as choices: what is built of them is well formed where a parser would
// otherwise refuse nearly everything. After the last byte each choice is the first one.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

#include <stddef.h>
#include <stdint.h>

struct choices {
    const uint8_t *at, *end;
};

// 0 to n - 1
static inline size_t choose(struct choices *c, size_t n)
{
    return c->at < c->end ? *c->at++ % n : 0;
}

#define CHOOSE(c, list) ((list)[choose((c), sizeof(list) / sizeof *(list))])

// One of several JSON texts, new; "" is nothing: NULL.
static inline cJSON *choose_json(struct choices *c, const char *const *texts, size_t n)
{
    const char *text = texts[choose(c, n)];
    return *text ? cJSON_Parse(text) : NULL;
}
#define CHOOSE_JSON(c, list) choose_json((c), (list), sizeof(list) / sizeof *(list))
