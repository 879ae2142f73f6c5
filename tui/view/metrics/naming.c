// SPDX-License-Identifier: MIT
#include "tui/view/metrics/naming.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/runs/runs.h"

#include <stdlib.h>
#include <string.h>

enum { HASH = 4, MOST_PARAMS = 4 };

bool naming_is_seed(const char *param)
{
    size_t n = strlen(param);
    static const char *const whole[] = {"seed", "random_seed", "random_state", "repeat"};
    for (size_t i = 0; i < ARRAY_LEN(whole); i++)
        if (str_eq(param, whole[i]))
            return true;
    return n > 5 && (str_eq(param + n - 5, ".seed") || str_eq(param + n - 5, "_seed"));
}

static bool same_value(const cJSON *a, const cJSON *b)
{
    return (!a && !b) || (a && b && cJSON_Compare(a, b, true));
}

// Is it the same in all?
static bool is_shared(const struct named *lines, size_t n, const char *param)
{
    for (size_t i = 1; i < n; i++)
        if (!same_value(json_get(lines[0].params, param), json_get(lines[i].params, param)))
            return false;
    return true;
}

static bool has_word(char *const *words, const char *word)
{
    for (; words && *words; words++)
        if (str_eq(*words, word))
            return true;
    return false;
}

char **naming_differing(const struct named *lines, size_t n)
{
    char **names = NULL;
    const cJSON *p;
    for (size_t i = 0; i < n; i++) {
        if (i && lines[i].params == lines[i - 1].params)
            continue;
        cJSON_ArrayForEach(p, lines[i].params)
        {
            if (!has_word(names, p->string) && !is_shared(lines, n, p->string))
                names = strv_add(names, p->string);
        }
    }
    return names;
}

typedef const char *field(const struct named *line);
static const char *metric_of(const struct named *line)
{
    return line->metric;
}
static const char *branch_of(const struct named *line)
{
    return line->branch;
}
static const char *notebook_of(const struct named *line)
{
    const char *slash = line->notebook ? strrchr(line->notebook, '/') : NULL;
    return slash ? slash + 1 : line->notebook;
}

static bool differs(const struct named *lines, size_t n, field *of)
{
    for (size_t i = 1; i < n; i++)
        if (!str_eq(of(&lines[i]), of(&lines[0])))
            return true;
    return false;
}

static void add_word(buf *name, const char *word)
{
    if (word && *word)
        buf_fmt(name, "%s%s", name->len ? " " : "", word);
}

// The parameters that tell this line from others: seeds come last, since they tell least.
static void add_params(buf *name, const struct named *line, char *const *names)
{
    int left = MOST_PARAMS;
    for (int seeds = 0; seeds < 2; seeds++)
        for (char *const *p = names; p && *p && left; p++) {
            const cJSON *value = json_get(line->params, *p);
            if (naming_is_seed(*p) != seeds || !value)
                continue;
            AUTO_FREE char *words = runs_text(value);
            buf_fmt(name, "%s%s=%s", name->len ? " " : "", *p, str_short(words, 24).text);
            left--;
        }
}

// What a run or a trial is called for short: "digits/4", or the last four of the run's name.
static const char *short_run(const struct named *line)
{
    size_t n = line->run ? strlen(line->run) : 0;
    return line->child ? line->child : n > HASH ? line->run + n - HASH : line->run;
}

static bool is_alone(char *const *names, size_t n, size_t i)
{
    for (size_t k = 0; k < n; k++)
        if (k != i && str_eq(names[k], names[i]))
            return false;
    return true;
}

// Those that have a name in common also say of which run they are.
static void tell_apart(char **names, const struct named *lines, size_t n)
{
    AUTO_FREE bool *unclear = mem_array(n + 1, sizeof *unclear);
    for (size_t i = 0; i < n; i++)
        unclear[i] = !*names[i] || !is_alone(names, n, i);
    for (size_t i = 0; i < n; i++) {
        if (!unclear[i])
            continue;
        buf name = {0};
        buf_str(&name, names[i]);
        add_word(&name, short_run(&lines[i]));
        free(names[i]);
        names[i] = buf_take(&name);
    }
    for (size_t i = 0; i < n; i++) // children of the same name, of different runs
        unclear[i] = !is_alone(names, n, i) && lines[i].child && lines[i].run;
    for (size_t i = 0; i < n; i++) {
        size_t length = unclear[i] ? strlen(lines[i].run) : 0;
        char *more = unclear[i] ? str_fmt("%s %s", names[i],
                                      length > HASH ? lines[i].run + length - HASH : lines[i].run)
                                : names[i];
        if (more != names[i])
            free(names[i]);
        names[i] = more;
    }
}

char **naming_of(const struct named *lines, size_t n)
{
    char **names = mem_array(n + 1, sizeof *names), **params = naming_differing(lines, n);
    bool metrics = differs(lines, n, metric_of), branches = differs(lines, n, branch_of),
         notebooks = differs(lines, n, notebook_of);
    for (size_t i = 0; i < n; i++) {
        buf name = {0};
        add_word(&name, metrics ? lines[i].metric : NULL);
        add_word(&name, notebooks ? notebook_of(&lines[i]) : NULL);
        add_params(&name, &lines[i], params);
        add_word(&name, branches ? lines[i].branch : NULL);
        names[i] = buf_take(&name);
    }
    strv_free(params);
    if (n > 1)
        tell_apart(names, lines, n);
    if (n == 1) {
        free(names[0]);
        names[0] = mem_strdup(lines[0].metric);
    }
    return names;
}

// The same but for seeds, in one direction.
static bool covers(const cJSON *a, const cJSON *b)
{
    const cJSON *p;
    cJSON_ArrayForEach(p, a)
    {
        if (!naming_is_seed(p->string) && !same_value(p, json_get(b, p->string)))
            return false;
    }
    return true;
}

static bool repeats(const struct named *a, const struct named *b)
{
    return str_eq(a->metric, b->metric) && str_eq(a->branch, b->branch) &&
           str_eq(a->notebook, b->notebook) && covers(a->params, b->params) &&
           covers(b->params, a->params);
}

void naming_repeats(const struct named *lines, size_t n, size_t *group)
{
    for (size_t i = 0; i < n; i++) {
        group[i] = i;
        for (size_t k = 0; k < i && group[i] == i; k++)
            if (group[k] == k && repeats(&lines[k], &lines[i]))
                group[i] = k;
    }
}
