// SPDX-License-Identifier: MIT
// Dockerfiles, by our own parser: their form, and the instructions that there are.
#include "base/str.h"
#include "k8s/image/dockerfile/dockerfile.h"
#include "script/api/language/language.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {"FROM", "ARG", "ENV", "COPY", "ADD", "RUN", "CMD", "ENTRYPOINT",
    "WORKDIR", "USER", "EXPOSE", "LABEL", "VOLUME", "STOPSIGNAL", "HEALTHCHECK", "SHELL", "ONBUILD",
    "MAINTAINER", NULL};

static bool is_known(const char *name)
{
    for (const char *const *n = names; *n; n++)
        if (str_eq(*n, name))
            return true;
    return false;
}

// The instruction's word in its line.
static struct language_place word_of(const char *text, const struct dockerfile_step *s)
{
    struct language_place p = {.line = (size_t)s->line - 1};
    p.from = strspn(language_line(text, p.line), " \t");
    p.to = p.from + strlen(s->name);
    return p;
}

static size_t count_words(const struct dockerfile *d, const struct dockerfile_step *s)
{
    char **words = dockerfile_split(s->rest, d->escape);
    size_t n = strv_len(words);
    strv_free(words);
    return n;
}

static void check_step(const struct language_text *t, const struct dockerfile *d,
    const struct dockerfile_step *s, bool first, cJSON *found)
{
    const struct language_finding f = {word_of(t->text, s), LANGUAGE_ERROR, "dockerfile"};
    const char *near = str_nearest(s->name, names);
    bool copies = str_eq(s->name, "COPY") || str_eq(s->name, "ADD");
    if (!is_known(s->name))
        language_add(found, t, &f, "there is no instruction %s%s%s%s", str_short(s->name, 40).text,
            near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    else if (first && !str_eq(s->name, "FROM"))
        language_add(found, t, &f, "before %s a FROM is needed", s->name);
    else if (!*s->rest && !s->here)
        language_add(found, t, &f, "after %s something is missing", s->name);
    else if (copies && !s->here && *s->rest != '[' && count_words(d, s) < 2)
        language_add(found, t, &f, "%s takes what to copy, and where to", s->name);
}

static void check_steps(const struct language_text *t, const struct dockerfile *d, cJSON *found)
{
    bool first = true;
    for (size_t i = 0; i < d->n; i++) {
        const struct dockerfile_step *s = &d->steps[i];
        bool before = str_eq(s->name, "ARG") || !is_known(s->name); // may stand before the first
        check_step(t, d, s, first && !before, found);
        first = first && before;
    }
    const struct language_finding f = {{0}, LANGUAGE_ERROR, "dockerfile"};
    if (first && d->n)
        language_add(found, t, &f, "there is no FROM: an image is made of another one");
}

void language_dockerfile(const struct language_text *t, cJSON *found)
{
    struct dockerfile d = {0};
    err e = {0};
    int line = 0, n = 0;
    if (dockerfile_parse(t->text, &d, &e) == 0) {
        check_steps(t, &d, found);
    } else {
        bool has = sscanf(e.text, "%d: %n", &line, &n) == 1 && n > 0 && line > 0;
        const struct dockerfile_step *last = d.n ? &d.steps[d.n - 1] : NULL;
        bool known = !last || is_known(last->name); // else what follows says more
        if (d.n)
            check_steps(t, &d, found);
        const struct language_finding f = {
            {.line = has ? (size_t)line - 1 : 0}, LANGUAGE_ERROR, "dockerfile"};
        if (known)
            language_add(found, t, &f, "%s", e.text + (has ? n : 0));
    }
    dockerfile_done(&d);
}
