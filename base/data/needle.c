// SPDX-License-Identifier: MIT
// Sixteen places at a time are checked for the needle's first byte, and for its last byte at the
// right distance. Few places pass, and only those are compared as a whole. Setting bit 5 on both
// sides makes letters of either case equal, but also a few other characters, which the comparison
// rules out.
#include "base/data/needle.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { PLACES = 16, BIT = 0x20 };
typedef unsigned char places __attribute__((vector_size(PLACES)));

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | BIT) : c;
}

void needle_set(struct needle *x, const char *text, size_t n)
{
    char *copy = mem_dup_text(text, n);
    for (size_t i = 0; i < n; i++)
        copy[i] = small(copy[i]);
    free(x->text);
    *x = (struct needle){copy, n};
}

void needle_done(struct needle *x)
{
    free(x->text);
    *x = (struct needle){0};
}

static bool stands_at(const struct needle *x, const char *at)
{
    for (size_t i = 0; i < x->n; i++)
        if (small(at[i]) != x->text[i])
            return false;
    return true;
}

static places all(char c)
{
    places p = {0};
    return p + (unsigned char)(c | BIT);
}

static places load(const char *at)
{
    places p;
    memcpy(&p, at, sizeof p);
    return p | BIT;
}

static bool any(places p)
{
    uint64_t halves[2];
    memcpy(halves, &p, sizeof halves);
    return halves[0] | halves[1];
}

const char *needle_find(const struct needle *x, const char *bytes, size_t n)
{
    if (n < x->n || x->n == 0)
        return x->n ? NULL : bytes;
    size_t count = n - x->n + 1, i = 0; // places where the needle could start
    const places first = all(x->text[0]), last = all(x->text[x->n - 1]);
    for (; i + PLACES <= count; i += PLACES) {
        places hit =
            (places)(load(bytes + i) == first) & (places)(load(bytes + i + x->n - 1) == last);
        if (!any(hit))
            continue;
        for (size_t k = 0; k < PLACES; k++)
            if (hit[k] && stands_at(x, bytes + i + k))
                return bytes + i + k;
    }
    for (; i < count; i++)
        if (stands_at(x, bytes + i))
            return bytes + i;
    return NULL;
}
