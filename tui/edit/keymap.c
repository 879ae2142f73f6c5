// SPDX-License-Identifier: MIT
#include "tui/edit/keymap.h"

#include "base/str.h"

#include <string.h>

// The next key in a binding's names; 0 at the end. *bad: a name does not parse.
static key next_key(const char **keys, bool *bad)
{
    while (**keys == ' ')
        (*keys)++;
    if (!**keys)
        return 0;
    size_t len = 0;
    key k = key_parse(*keys, strlen(*keys), &len);
    *bad = !k || ((*keys)[len] && (*keys)[len] != ' ');
    *keys += len;
    return k;
}

enum match { NO_MATCH, BEGINS, COMPLETE };

static enum match match(const struct key_input *in, const char *keys)
{
    bool bad = false;
    for (size_t i = 0; i < in->n; i++)
        if (next_key(&keys, &bad) != in->keys[i] || bad)
            return NO_MATCH;
    return next_key(&keys, &bad) ? BEGINS : COMPLETE;
}

// What the keys so far mean in all maps: within a map a complete binding wins over longer ones, and
// an earlier map over later ones.
static enum match look_up(const struct key_input *in, const struct keymap *const *maps, size_t n,
    unsigned mode, enum action *a)
{
    enum match best = NO_MATCH;
    for (size_t m = 0; m < n; m++) {
        for (size_t i = 0; i < maps[m]->n; i++) {
            const struct binding *b = &maps[m]->bindings[i];
            enum match found = b->modes & mode ? match(in, b->keys) : NO_MATCH;
            if (found == COMPLETE) {
                *a = b->action;
                return *a == ACT_NONE ? NO_MATCH : COMPLETE;
            }
            best = found > best ? found : best;
        }
        if (best == BEGINS)
            return BEGINS;
    }
    return best;
}

enum action keymap_feed(
    struct key_input *in, const struct keymap *const *maps, size_t n, unsigned mode, key k)
{
    bool continued = in->n > 0;
    if (in->n == KEYMAP_SEQUENCE)
        in->n = 0;
    in->keys[in->n++] = key_normal(k);
    enum action a = ACT_NONE;
    enum match found = look_up(in, maps, n, mode, &a);
    if (found == NO_MATCH && continued) {
        *in = (struct key_input){.keys = {key_normal(k)}, .n = 1};
        found = look_up(in, maps, n, mode, &a);
    }
    if (found != BEGINS)
        in->n = 0;
    return found == COMPLETE ? a : ACT_NONE;
}

bool keymap_knows(const struct keymap *const *maps, size_t n, unsigned mode, key k)
{
    struct key_input in = {.keys = {key_normal(k)}, .n = 1};
    enum action a;
    return look_up(&in, maps, n, mode, &a) != NO_MATCH;
}

enum action keymap_nth(const struct keymap *map, unsigned mode, key k, size_t n)
{
    struct key_input in = {.keys = {key_normal(k)}, .n = 1};
    for (size_t i = 0; i < map->n; i++) {
        const struct binding *b = &map->bindings[i];
        if (b->modes & mode && match(&in, b->keys) == COMPLETE && n-- == 0)
            return b->action;
    }
    return ACT_NONE;
}

static bool parse_sequence(const char *keys, struct key_input *out)
{
    bool bad = false;
    *out = (struct key_input){0};
    for (key k; (k = next_key(&keys, &bad)) && !bad;) {
        if (out->n == KEYMAP_SEQUENCE)
            return false;
        out->keys[out->n++] = k;
    }
    return !bad && out->n > 0;
}

bool keymap_check(const struct keymap *map, buf *why)
{
    for (size_t i = 0; i < map->n; i++) {
        const struct binding *b = &map->bindings[i];
        struct key_input sequence;
        if (!parse_sequence(b->keys, &sequence)) {
            buf_fmt(why, "\"%s\" is not a sequence of keys", b->keys);
            return false;
        }
        for (size_t j = 0; j < map->n; j++) {
            const struct binding *other = &map->bindings[j];
            if (j == i || !(other->modes & b->modes) || match(&sequence, other->keys) == NO_MATCH)
                continue;
            buf_fmt(why, "\"%s\" (%s) hides \"%s\" (%s)", b->keys, action_name(b->action),
                other->keys, action_name(other->action));
            return false;
        }
    }
    return true;
}

static void add_keys(char *out, size_t size, const char *keys)
{
    size_t used = strlen(out), n = strlen(keys);
    if (used + n + 3 > size)
        return;
    if (used) {
        memcpy(out + used, ", ", 3);
        used += 2;
    }
    memcpy(out + used, keys, n + 1);
}

static bool bound_in(const struct keymap *map, const struct binding *b, unsigned mode)
{
    for (size_t i = 0; i < map->n; i++)
        if (map->bindings[i].modes & mode && str_eq(map->bindings[i].keys, b->keys))
            return true;
    return false;
}

static size_t add_help(const struct binding *b, struct help_line *lines, size_t used, size_t max)
{
    size_t line = 0;
    while (line < used && lines[line].action != b->action)
        line++;
    if (line == max)
        return used;
    if (line == used)
        lines[used++] = (struct help_line){.action = b->action};
    add_keys(lines[line].keys, sizeof lines[line].keys, b->keys);
    return used;
}

// Does an earlier map use the keys of this binding of map m?
static bool hidden(
    const struct keymap *const *maps, size_t m, unsigned mode, const struct binding *b)
{
    for (size_t k = 0; k < m; k++)
        if (bound_in(maps[k], b, mode))
            return true;
    return false;
}

size_t keymap_help(
    const struct keymap *const *maps, size_t n, unsigned mode, struct help_line *lines, size_t max)
{
    size_t used = 0;
    for (size_t m = 0; m < n; m++)
        for (size_t i = 0; i < maps[m]->n; i++) {
            const struct binding *b = &maps[m]->bindings[i];
            if (b->modes & mode && b->action != ACT_NONE && !hidden(maps, m, mode, b))
                used = add_help(b, lines, used, max);
        }
    return used;
}

void keymap_keys(const struct keymap *const *maps, size_t n, unsigned mode, enum action a,
    char *out, size_t size)
{
    if (!size)
        return;
    out[0] = '\0';
    for (size_t m = 0; m < n; m++)
        for (size_t i = 0; i < maps[m]->n && !out[0]; i++) {
            const struct binding *b = &maps[m]->bindings[i];
            if (b->modes & mode && b->action == a && !hidden(maps, m, mode, b))
                add_keys(out, size, b->keys);
        }
}
