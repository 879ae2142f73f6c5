// SPDX-License-Identifier: MIT
#include "script/journal/runs/runs.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// What a run's names belong to, and the member that is the value, where it is one of several.
static const struct kind {
    const char *name, *member;
} kinds[] = {{"params", NULL}, {"metrics", "value"}, {"tags", NULL}};

static const cJSON *of_kind(const cJSON *run, const struct kind *k, const char *name)
{
    const cJSON *value = json_get(json_get(run, k->name), name);
    return k->member ? json_get(value, k->member) : value;
}

// Where the run came from: commit, branch, dirty, seed, host, context, …
static const cJSON *of_origin(const cJSON *origin, const char *name)
{
    static const char *const parts[] = {"git", "cluster", "machine"};
    const cJSON *found = json_get(origin, name);
    if (found && !cJSON_IsObject(found))
        return found;
    found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(parts) && !found; i++)
        found = json_get(json_get(origin, parts[i]), name);
    return found;
}

const cJSON *runs_field(const cJSON *run, const char *name)
{
    const char *dot = strchr(name, '.');
    for (size_t i = 0; dot && i < ARRAY_LEN(kinds); i++) {
        size_t n = strlen(kinds[i].name);
        if (strncmp(name, kinds[i].name, n) == 0 && name[n] == '.')
            return of_kind(run, &kinds[i], name + n + 1);
    }
    const cJSON *found = json_get(run, name);
    if (found && !cJSON_IsObject(found))
        return found;
    found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(kinds) && !found; i++)
        found = of_kind(run, &kinds[i], name);
    return found ? found : of_origin(json_get(run, "origin"), name);
}

char *runs_text(const cJSON *value)
{
    if (!value || cJSON_IsNull(value))
        return mem_strdup("");
    if (cJSON_IsString(value))
        return mem_strdup(value->valuestring);
    if (cJSON_IsBool(value))
        return mem_strdup(cJSON_IsTrue(value) ? "true" : "false");
    int64_t integer;
    if (json_int(value, &integer))
        return str_fmt("%lld", (long long)integer);
    if (cJSON_IsNumber(value))
        return str_fmt("%.6g", value->valuedouble);
    return json_to_str(value);
}

// The number that a value is, also if it is a text ("nan" is one).
static bool number_of(const cJSON *value, struct condition_number *n)
{
    n->is_whole = json_int(value, &n->whole);
    return json_number(value, &n->value) ||
           (cJSON_IsString(value) && condition_number(value->valuestring, n));
}

static bool term_holds(const struct condition_term *t, const cJSON *run)
{
    const cJSON *value = runs_field(run, t->name);
    if (!value)
        return t->op == CONDITION_OTHER || t->op == CONDITION_LACKS;
    struct condition_number a, b;
    bool has = t->op == CONDITION_HAS || t->op == CONDITION_LACKS;
    if (!has && number_of(value, &a) && condition_number(t->value, &b))
        return condition_holds_number(t, &a, &b);
    AUTO_FREE char *text = runs_text(value);
    return has ? (strcasestr(text, t->value) != NULL) == (t->op == CONDITION_HAS)
               : condition_orders(t->op, strcmp(text, t->value));
}

bool runs_where_holds(const struct condition *w, const cJSON *run)
{
    for (size_t i = 0; i < w->n; i++)
        if (!term_holds(&w->terms[i], run))
            return false;
    return true;
}

bool runs_any_has(cJSON *const *runs, size_t n, const char *field)
{
    for (size_t i = 0; i < n; i++)
        if (runs_field(runs[i], field))
            return true;
    return false;
}

struct sorted {
    size_t place;
    const cJSON *value; // NULL: last
    size_t at;
    bool down;
};

static int by_value(const void *a_, const void *b_)
{
    const struct sorted *a = a_, *b = b_;
    struct condition_number x, y;
    bool one = number_of(a->value, &x) && !isnan(x.value),
         other = number_of(b->value, &y) && !isnan(y.value);
    int order = 0;
    if (!a->value != !b->value)
        return !a->value - !b->value;
    if (one && other) {
        order = condition_number_order(&x, &y);
    } else if (one != other) {
        return other - one; // numbers sort before other values
    } else if (a->value) {
        AUTO_FREE char *s = runs_text(a->value);
        AUTO_FREE char *t = runs_text(b->value);
        order = strcmp(s, t);
    }
    if (order)
        return a->down ? -order : order;
    return (a->at > b->at) - (a->at < b->at);
}

void runs_order(size_t *places, const cJSON *const *values, size_t n, bool down)
{
    struct sorted *all = mem_array(n + 1, sizeof *all);
    for (size_t i = 0; i < n; i++)
        all[i] = (struct sorted){places[i], values[i], i, down};
    qsort(all, n, sizeof *all, by_value);
    for (size_t i = 0; i < n; i++)
        places[i] = all[i].place;
    free(all);
}

void runs_sort(cJSON **runs, size_t n, const char *field)
{
    bool down = *field == '-';
    size_t *places = mem_array(n + 1, sizeof *places);
    const cJSON **values = mem_array(n + 1, sizeof *values);
    cJSON **sorted = mem_array(n + 1, sizeof *sorted);
    for (size_t i = 0; i < n; i++) {
        places[i] = i;
        values[i] = runs_field(runs[i], field + down);
    }
    runs_order(places, values, n, down);
    for (size_t i = 0; i < n; i++)
        sorted[i] = runs[places[i]];
    memcpy(runs, sorted, n * sizeof *runs);
    free(places);
    free(values);
    free(sorted);
}
