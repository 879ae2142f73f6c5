// SPDX-License-Identifier: MIT
// Small allocations that cannot fail, and the cleanup idiom of the whole program. The caller owns
// what is returned. Use mem_try_array for sizes that come from input.
#pragma once
#include <stddef.h>
#include <stdlib.h>

// Ends the program with exit code 1 because `size` more bytes cannot be had. First it calls the
// function that mem_when_out was given (which restores the terminal); then it writes a sentence to
// standard error that names the limit.
_Noreturn void mem_out(size_t size);
void mem_when_out(void (*restore)(void));
// Zeroed memory; mem_out when there is none.
void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
// Zeroed array of `count` elements; mem_out on overflow or when there is no memory.
void *mem_array(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
// Resizes to `count` elements; the new part is not zeroed. mem_out as mem_array.
void *mem_resize(void *old, size_t count, size_t size) __attribute__((returns_nonnull));
// A copy of a string (NULL stays NULL); of the string or its first n bytes, whichever is shorter;
// of n bytes that may contain NULs, and a NUL behind them; of n bytes.
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n) __attribute__((returns_nonnull));
char *mem_dup_text(const char *s, size_t n) __attribute__((returns_nonnull));
void *mem_dup(const void *p, size_t n) __attribute__((returns_nonnull));
// Keeps memory, and all that it points to, until the process ends, which is about to happen:
// freeing it piece by piece would only take time. Leak checkers do not report it. For the main
// thread only.
void mem_leave(void *p);
// Gives memory that this thread has freed back to the system. It takes some milliseconds at most.
void mem_trim(void);
// For sizes that come from input: NULL on overflow or when there is no memory.
void *mem_try_array(size_t count, size_t size) __attribute__((malloc));

// free() for a pointer that lives in a variable; the target of AUTO_FREE.
static inline void mem_free_at(void *p)
{
    free(*(void **)p);
}

// A scope-bound resource: `AUTO_FREE char *s = …;` is freed at the end of the block, and
// `return STEAL(s)` hands it on. It must not be live across a Lua call that may raise.
#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define AUTO_FREE   CLEANUP(mem_free_at)
#define STEAL(p)                                                                                   \
    ({                                                                                             \
        __typeof__(p) stolen_ = (p);                                                               \
        (p) = NULL;                                                                                \
        stolen_;                                                                                   \
    })
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
