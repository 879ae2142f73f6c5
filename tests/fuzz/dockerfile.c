// SPDX-License-Identifier: MIT
// Dockerfiles: the steps of one, and the words of each. Words of a text without "$" do not depend
// on any variable.
#include "k8s/image/dockerfile/dockerfile.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char *look_up(void *arg, const char *name)
{
    (void)arg;
    return str_eq(name, "HOME") ? "/ho me" : str_eq(name, "V") ? "$V 'x" : NULL;
}

static const char *nothing(void *arg, const char *name)
{
    (void)arg;
    (void)name;
    return NULL;
}

static void free_words(char **words)
{
    for (char **w = words; w && *w; w++)
        free(*w);
    free(words);
}

static bool same(char **a, char **b)
{
    if (!a || !b)
        return a == b;
    while (*a && *b && strcmp(*a, *b) == 0)
        a++, b++;
    return !*a && !*b;
}

static void expand(const char *text)
{
    char **set = NULL, **unset = NULL;
    err e;
    struct dockerfile_values some = {look_up, NULL, 1000}, none = {nothing, NULL, 0};
    free(dockerfile_text(text, &some, &e));
    dockerfile_words(text, &some, &set, &e);
    dockerfile_words(text, &none, &unset, &e);
    if (!strchr(text, '$') && !same(set, unset))
        abort();
    free_words(set);
    free_words(unset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO_FREE char *text = mem_strndup((const char *)data, n);
    struct dockerfile d = {0};
    err e;
    if (dockerfile_parse(text, &d, &e) != 0)
        return 0;
    dockerfile_foreign(&d);
    for (size_t i = 0, line = 0; i < d.n; i++) {
        if ((size_t)d.steps[i].line < line || !*d.steps[i].name)
            abort(); // steps are in the file's order
        line = (size_t)d.steps[i].line;
        expand(d.steps[i].rest);
        for (char **flag = d.steps[i].flags; *flag; flag++)
            expand(*flag);
    }
    dockerfile_done(&d);
    return 0;
}
