// SPDX-License-Identifier: MIT
// Finds the globals that a function reads. Lua compiles a global to a field of the upvalue _ENV, so
// its name is a constant of an instruction. The format is that of Lua 5.4's ldump.c:
//   header, number of upvalues, function
//   function  source, lines (2), parameters, vararg, stack, code, constants, upvalues (3 bytes
//     each),
//             functions, line numbers, absolute ones, locals, names of the upvalues
//   counts and lengths are groups of 7 bits, the highest first, the last one with bit 7
#include "script/pack/pack.h"

#include <string.h>

enum {
    HEADER = 31,
    OP_GETUPVAL = 9,  // A B    R[A] := Up[B]
    OP_GETTABUP = 11, // A B C  R[A] := Up[B][K[C]]
    CONSTANT_INTEGER = 0x03,
    CONSTANT_FLOAT = 0x13,
    CONSTANT_SHORT = 0x04,
    CONSTANT_LONG = 0x14,
    NAMES_MOST = 1 << 16,
    NESTED_MOST = 200,
};

struct reader {
    const uint8_t *at, *end;
    bool bad;
    void (*fn)(void *arg, const char *name, size_t length);
    void *arg;
};

static const uint8_t *skip(struct reader *r, size_t n)
{
    const uint8_t *at = r->at;
    if ((size_t)(r->end - r->at) < n) {
        r->bad = true;
        return NULL;
    }
    r->at += n;
    return at;
}

static size_t number(struct reader *r)
{
    size_t value = 0;
    for (int i = 0; i < 10; i++) {
        const uint8_t *byte = skip(r, 1);
        if (!byte)
            return 0;
        value = value << 7 | (*byte & 0x7f);
        if (*byte & 0x80)
            return value;
    }
    r->bad = true;
    return 0;
}

// Reads a text; NULL: none.
static const char *text(struct reader *r, size_t *n)
{
    size_t size = number(r);
    *n = size ? size - 1 : 0;
    return size ? (const char *)skip(r, *n) : NULL;
}

static void constant(struct reader *r)
{
    size_t n;
    const uint8_t *type = skip(r, 1);
    if (!type)
        return;
    if (*type == CONSTANT_INTEGER || *type == CONSTANT_FLOAT)
        skip(r, 8);
    else if (*type == CONSTANT_SHORT || *type == CONSTANT_LONG)
        text(r, &n);
}

// Calls fn with the constant at an index of the list that begins at `from`. index SIZE_MAX: with
// all texts.
static void tell(struct reader *r, const uint8_t *from, size_t index)
{
    struct reader list = {.at = from, .end = r->end};
    size_t n = number(&list);
    for (size_t i = 0; i < n && !list.bad; i++) {
        size_t length;
        bool is_text = list.at < list.end && *list.at == CONSTANT_SHORT;
        if (!is_text || (index != SIZE_MAX && i != index)) {
            constant(&list);
            continue;
        }
        list.at++;
        const char *name = text(&list, &length);
        if (name && !list.bad)
            r->fn(r->arg, name, length);
    }
}

// In a function with more than 255 constants, _ENV may be loaded first and its field afterwards:
// then any text may be the name of a global.
static void scan(
    struct reader *r, const uint8_t *code, size_t n, const uint8_t *constants, size_t environment)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t word;
        memcpy(&word, code + 4 * i, 4);
        unsigned op = word & 0x7f, b = word >> 16 & 0xff, c = word >> 24;
        if (op == OP_GETTABUP && b == environment)
            tell(r, constants, c);
        else if (op == OP_GETUPVAL && b == environment)
            tell(r, constants, SIZE_MAX);
    }
}

static void function(struct reader *r, int depth);

static void functions(struct reader *r, int depth)
{
    size_t n = number(r);
    r->bad |= depth > NESTED_MOST;
    for (size_t i = 0; i < n && !r->bad; i++)
        function(r, depth + 1);
}

// Skips the debug information; returns the number of the upvalue _ENV, SIZE_MAX: there is none.
static size_t find_environment(struct reader *r)
{
    size_t length, found = SIZE_MAX;
    skip(r, number(r));
    for (size_t n = number(r), i = 0; i < n && !r->bad; i++) {
        number(r);
        number(r);
    }
    for (size_t n = number(r), i = 0; i < n && !r->bad; i++) {
        text(r, &length);
        number(r);
        number(r);
    }
    for (size_t n = number(r), i = 0; i < n && !r->bad; i++) {
        const char *name = text(r, &length);
        if (name && length == 4 && memcmp(name, "_ENV", 4) == 0)
            found = i;
    }
    return found;
}

static void function(struct reader *r, int depth)
{
    size_t length;
    text(r, &length);
    number(r);
    number(r);
    skip(r, 3);
    size_t n = number(r);
    const uint8_t *code = n < SIZE_MAX / 4 ? skip(r, 4 * n) : NULL, *constants = r->at;
    for (size_t count = number(r), i = 0; i < count && !r->bad; i++)
        constant(r);
    size_t upvalues = number(r);
    skip(r, upvalues < NAMES_MOST ? 3 * upvalues : SIZE_MAX);
    functions(r, depth);
    size_t environment = find_environment(r);
    if (code && !r->bad && environment != SIZE_MAX)
        scan(r, code, n, constants, environment);
}

int pack_each_global(const void *bytecode, size_t n,
    void (*fn)(void *arg, const char *name, size_t length), void *arg, err *e)
{
    struct reader r = {.at = bytecode, .end = (const uint8_t *)bytecode + n, .fn = fn, .arg = arg};
    skip(&r, HEADER + 1);
    if (!r.bad)
        function(&r, 0);
    return r.bad ? err_set(e, ERR_INVALID, "the function's bytecode is not Lua 5.4's") : 0;
}
