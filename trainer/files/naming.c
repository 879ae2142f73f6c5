// SPDX-License-Identifier: MIT
#include "trainer/files/naming.h"

#include "base/mem.h"
#include "trainer/nn/layer/layer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const naming_hit none = {.at = SIZE_MAX, .other = SIZE_MAX};

static const struct rename {
    const char *here, *there;
} torch_names[] = {
    {"kernel", "weight"},
    {"embeddings", "weight"},
    {"gamma", "weight"},
    {"beta", "bias"},
    {"bias", "bias"},
    {"moving_mean", "running_mean"},
    {"moving_variance", "running_var"},
};

void naming_torch(const char *name, buf *out)
{
    const char *last = strrchr(name, '/');
    for (size_t i = 0; last && i < ARRAY_LEN(torch_names); i++)
        if (strcmp(last + 1, torch_names[i].here) == 0)
            buf_fmt(out, "%.*s.%s", (int)(last - name), name, torch_names[i].there);
}

// Its length without TensorFlow's ":0" at the end.
static size_t length_of(const char *there)
{
    size_t n = strlen(there);
    return n > 2 && strcmp(there + n - 2, ":0") == 0 ? n - 2 : n;
}

static size_t parts_of(const char *there, size_t n, char separator)
{
    size_t parts = 1;
    for (size_t i = 0; i < n; i++)
        parts += there[i] == separator;
    return parts;
}

// Is it the name, with or without a path before it?
static bool ends_with(const char *there, const char *name, char separator)
{
    size_t n = length_of(there), k = strlen(name);
    return k && n >= k && memcmp(there + n - k, name, k) == 0 &&
           (n == k || there[n - k - 1] == separator);
}

// Does it contain the parts of the weight's layer, and its last part at the end?
static bool contains(const char *there, const char *name, char separator)
{
    const char *last = strrchr(name, '/');
    size_t layer = last ? (size_t)(last - name) : 0, n = length_of(there);
    if (!layer || !ends_with(there, last + 1, separator))
        return false;
    for (const char *at = there; at + layer < there + n; at++)
        if (memcmp(at, name, layer) == 0 && at[layer] == separator &&
            (at == there || at[-1] == separator))
            return true;
    return false;
}

// The one with the fewest parts that `fits`.
static naming_hit nearest(const char *const *there, size_t n, const char *name, char separator,
    bool (*fits)(const char *, const char *, char))
{
    naming_hit hit = none;
    size_t fewest = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        if (!fits(there[i], name, separator))
            continue;
        size_t parts = parts_of(there[i], length_of(there[i]), separator);
        if (parts > fewest)
            continue;
        hit.other = parts < fewest ? SIZE_MAX : hit.at;
        hit.at = i;
        fewest = parts;
    }
    hit.torch = separator == '.';
    if (hit.other == SIZE_MAX)
        return hit;
    return (naming_hit){.at = SIZE_MAX, .other = hit.other};
}

static bool is_same(const char *there, const char *name, char separator)
{
    return ends_with(there, name, separator) && length_of(there) == strlen(name);
}

static naming_hit by_name(const char *const *there, size_t n, const char *name)
{
    AUTO_BUF torch = {0};
    naming_torch(name, &torch);
    const char *other = buf_cstr(&torch);
    naming_hit tries[] = {
        nearest(there, n, name, '/', is_same),
        nearest(there, n, other, '.', is_same),
        nearest(there, n, name, '/', ends_with),
        nearest(there, n, other, '.', ends_with),
        nearest(there, n, name, '/', contains),
    };
    for (size_t i = 0; i < ARRAY_LEN(tries); i++)
        if (tries[i].at != SIZE_MAX || tries[i].other != SIZE_MAX)
            return tries[i];
    return none;
}

// A layer's automatic name: "dense" and 0, "dense_2" and 2.
struct numbered {
    char base[LAYER_NAME_SIZE];
    long number;
};

// Reads the part of a path that ends at `end`. False: no layer is named so by itself.
static bool read_numbered(const char *path, const char *end, struct numbered *out)
{
    const char *begin = end;
    while (begin > path && begin[-1] != '/')
        begin--;
    const char *digits = end;
    while (digits > begin && isdigit((unsigned char)digits[-1]))
        digits--;
    bool has = digits < end && digits > begin && digits[-1] == '_';
    const char *stop = has ? digits - 1 : end;
    if ((size_t)(stop - begin) >= sizeof out->base || end - digits > 9)
        return false;
    snprintf(out->base, sizeof out->base, "%.*s", (int)(stop - begin), begin);
    out->number = has ? strtol(digits, NULL, 10) : 0;
    for (layer_kind kind = 0; kind < LAYER_KIND_COUNT; kind++)
        if (strcmp(layer_kind_id(kind), out->base) == 0)
            return true;
    return false;
}

// How many of the names are of a weight `last` of a layer with this base, and how many of them have
// a smaller number.
static size_t count_numbered(const char *const *names, size_t n, const struct numbered *like,
    const char *last, size_t *smaller)
{
    size_t count = 0;
    *smaller = 0;
    for (size_t i = 0; i < n; i++) {
        struct numbered it;
        const char *end = strrchr(names[i], '/');
        if (!end || !ends_with(names[i], last, '/') || !read_numbered(names[i], end, &it) ||
            strcmp(it.base, like->base) != 0)
            continue;
        count++;
        *smaller += it.number < like->number;
    }
    return count;
}

// Is the layer's position among those of its kind the same in both?
static naming_hit by_order(
    const char *const *here, size_t m, const char *const *there, size_t n, const char *name)
{
    struct numbered mine, other;
    const char *last = strrchr(name, '/');
    size_t place, all, smaller;
    if (!last || !read_numbered(name, last, &mine))
        return by_name(there, n, name);
    all = count_numbered(here, m, &mine, last + 1, &place);
    naming_hit hit = none;
    for (size_t i = 0; i < n; i++) {
        const char *end = strrchr(there[i], '/');
        if (!end || !ends_with(there[i], last + 1, '/') || !read_numbered(there[i], end, &other) ||
            strcmp(other.base, mine.base) != 0 ||
            count_numbered(there, n, &other, last + 1, &smaller) != all || smaller != place)
            continue;
        hit.other = hit.at;
        hit.at = i;
    }
    return hit.other == SIZE_MAX ? hit : (naming_hit){.at = SIZE_MAX, .other = hit.other};
}

static naming_hit by_place(const char *const *there, size_t n, size_t i)
{
    char name[32];
    snprintf(name, sizeof name, "arr_%zu", i);
    return nearest(there, n, name, '/', is_same);
}

size_t naming_find(
    const char *const *here, size_t m, const char *const *there, size_t n, naming_hit *out)
{
    size_t least = SIZE_MAX;
    AUTO_FREE naming_hit *hits = mem_array(m + 1, sizeof *hits);
    for (int way = 0; way < 3 && least; way++) {
        size_t missing = 0;
        for (size_t i = 0; i < m; i++) {
            hits[i] = way == 0   ? by_name(there, n, here[i])
                      : way == 1 ? by_order(here, m, there, n, here[i])
                      : n == m   ? by_place(there, n, i)
                                 : none;
            missing += hits[i].at == SIZE_MAX;
        }
        if (missing < least)
            memcpy(out, hits, m * sizeof *hits);
        least = missing < least ? missing : least;
    }
    return least;
}
