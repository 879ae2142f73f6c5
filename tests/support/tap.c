// SPDX-License-Identifier: MIT
#include "tests/support/tap.h"

#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/os/path.h"

#include <stdarg.h>
#include <unistd.h>

static struct {
    struct {
        const char *name;
        void (*fn)(void);
    } tests[400];
    int count;
    jmp_buf out;
    char message[4000];
    char *dir;
    char *const *only; // the arguments; ends with NULL
} tap;

enum { TAP_FAILED = 1, TAP_SKIPPED };

static const char *path_below(const char *root, const char *below)
{
    static char paths[8][4096];
    static unsigned next;
    char *path = paths[next++ % ARRAY_LEN(paths)];
    snprintf(path, sizeof *paths, "%s/%s", root, below);
    return path;
}

const char *tap_source(const char *below)
{
    return path_below(SOURCE_ROOT, below);
}

const char *tap_built(const char *below)
{
    return path_below(BUILD_ROOT, below);
}

void tap_register(const char *name, void (*fn)(void))
{
    if (tap.count == (int)ARRAY_LEN(tap.tests))
        abort();
    tap.tests[tap.count].name = name;
    tap.tests[tap.count++].fn = fn;
}

// glibc passes main's arguments to constructors. They choose cases: those whose names contain one
// of them.
__attribute__((constructor)) static void read_arguments(int argc, char **argv)
{
    tap.only = argv + (argc > 0);
}

static bool is_chosen(const char *name)
{
    bool chosen = !*tap.only;
    for (char *const *word = tap.only; *word; word++)
        chosen = chosen || strstr(name, *word);
    return chosen;
}

void tap_fail(const char *file, int line, const char *fmt, ...)
{
    int n = snprintf(tap.message, sizeof tap.message, "%s:%d: ", file, line);
    va_list args;
    va_start(args, fmt);
    vsnprintf(tap.message + n, sizeof tap.message - (size_t)n, fmt, args);
    va_end(args);
    longjmp(tap.out, TAP_FAILED);
}

void tap_skip(const char *why)
{
    snprintf(tap.message, sizeof tap.message, "%s", why);
    longjmp(tap.out, TAP_SKIPPED);
}

const char *tap_dir(void)
{
    err e = {0};
    if (!tap.dir) {
        const char *parent = getenv("TMPDIR");
        tap.dir = path_make_temp(parent ? parent : "/tmp", "tap-", &e);
        if (!tap.dir)
            tap_fail(__FILE__, __LINE__, "%s", e.text);
    }
    return tap.dir;
}

struct cJSON *tap_yaml(const char *text)
{
    err e = {0};
    AUTO_JSON *documents = yaml_parse_letters(text, strlen(text), &e);
    CHECK_OK(documents, e);
    return cJSON_DetachItemFromArray(documents, 0);
}

// The message as TAP diagnostics: every line behind a '#'.
static void print_message(void)
{
    fputs("# ", stdout);
    for (const char *p = tap.message; *p; p++) {
        putchar(*p);
        if (*p == '\n')
            fputs("# ", stdout);
    }
    putchar('\n');
}

static int run_one(int i)
{
    int how = setjmp(tap.out);
    if (how == 0)
        tap.tests[i].fn();
    if (how == TAP_SKIPPED)
        printf("ok %d - %s # SKIP %s\n", i + 1, tap.tests[i].name, tap.message);
    else
        printf("%s %d - %s\n", how ? "not ok" : "ok", i + 1, tap.tests[i].name);
    if (how == TAP_FAILED)
        print_message();
    if (tap.dir) {
        path_remove(tap.dir, NULL);
        free(STEAL(tap.dir));
    }
    fflush(stdout);
    return how == TAP_FAILED;
}

int tap_run(void)
{
    int failed = 0, chosen = 0;
    for (int i = 0; i < tap.count; i++)
        if (is_chosen(tap.tests[i].name))
            tap.tests[chosen++] = tap.tests[i];
    tap.count = chosen;
    printf("1..%d\n", tap.count);
    fflush(stdout);
    for (int i = 0; i < tap.count; i++)
        failed += run_one(i);
    return failed != 0;
}
