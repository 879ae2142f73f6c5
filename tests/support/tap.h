// SPDX-License-Identifier: MIT
// Unit tests that speak TAP: a test program is a list of functions, each a case with a name.
//
//   TEST(buf_grows) { buf b = {0}; … CHECK_INT(b.len, 3); }
//   int main(void) { return tap_run(); }
//
// A failed CHECK prints its place and values, and ends the case. `SKIP("why")` is counted, not
// hidden. `test-buf grow` runs the cases with "grow" in their names.
#pragma once
#include "base/err.h"

#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void tap_register(const char *name, void (*fn)(void));
int tap_run(void);
void tap_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), noreturn));
void tap_skip(const char *why) __attribute__((noreturn));
// Sanitizers see the same in a part of the work.
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define TAP_SANITIZED 1
#else
#define TAP_SANITIZED 0
#endif
// A new folder for the running case, removed after it.
const char *tap_dir(void);
// The path of a file below the sources, or below what is built; good until the eighth call after
// it.
const char *tap_source(const char *below);
const char *tap_built(const char *below);
// The object that a case has written down as YAML, for it to delete.
struct cJSON *tap_yaml(const char *text);

#define TEST(name)                                                                                 \
    static void test_##name(void);                                                                 \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        tap_register(#name, test_##name);                                                          \
    }                                                                                              \
    static void test_##name(void)

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond))                                                                               \
            tap_fail(__FILE__, __LINE__, "%s", #cond);                                             \
    } while (0)
#define CHECK_INT(got, want)                                                                       \
    do {                                                                                           \
        long long got_ = (long long)(got), want_ = (long long)(want);                              \
        if (got_ != want_)                                                                         \
            tap_fail(__FILE__, __LINE__, "%s: got %lld, want %lld", #got, got_, want_);            \
    } while (0)
#define CHECK_STR(got, want)                                                                       \
    do {                                                                                           \
        const char *got_ = (got), *want_ = (want);                                                 \
        if (!got_ || !want_ ? got_ != want_ : strcmp(got_, want_) != 0)                            \
            tap_fail(__FILE__, __LINE__, "%s:\n     got: %s\n    want: %s", #got,                  \
                got_ ? got_ : "(null)", want_ ? want_ : "(null)");                                 \
    } while (0)
#define CHECK_HAS(text, part)                                                                      \
    do {                                                                                           \
        const char *text_ = (text), *part_ = (part);                                               \
        if (!text_ || !strstr(text_, part_))                                                       \
            tap_fail(__FILE__, __LINE__, "%s:\n     got: %s\n    want: …%s…", #text,               \
                text_ ? text_ : "(null)", part_);                                                  \
    } while (0)
#define CHECK_NEAR(got, want, tolerance)                                                           \
    do {                                                                                           \
        double got_ = (got), want_ = (want);                                                       \
        if (!(fabs(got_ - want_) <= (tolerance)))                                                  \
            tap_fail(__FILE__, __LINE__, "%s: got %.9g, want %.9g", #got, got_, want_);            \
    } while (0)
// An err-returning call that must succeed; otherwise its text is shown.
#define CHECK_OK(call, e)                                                                          \
    do {                                                                                           \
        if (!(call))                                                                               \
            tap_fail(__FILE__, __LINE__, "%s: %s", #call, (e).text);                               \
    } while (0)
#define SKIP(why) tap_skip(why)
