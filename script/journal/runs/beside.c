// SPDX-License-Identifier: MIT
#include "script/journal/runs/beside.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/runs/runs.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Words of names, as they stand between '_', '/', '.', '-', digits and blanks.
static const struct {
    const char *word;
    enum metric_best best;
} words[] = {
    {"loss", METRIC_LEAST},
    {"error", METRIC_LEAST},
    {"err", METRIC_LEAST},
    {"mse", METRIC_LEAST},
    {"rmse", METRIC_LEAST},
    {"mae", METRIC_LEAST},
    {"mape", METRIC_LEAST},
    {"rmspe", METRIC_LEAST},
    {"nll", METRIC_LEAST},
    {"perplexity", METRIC_LEAST},
    {"ppl", METRIC_LEAST},
    {"wer", METRIC_LEAST},
    {"cer", METRIC_LEAST},
    {"crossentropy", METRIC_LEAST},
    {"entropy", METRIC_LEAST},
    {"regret", METRIC_LEAST},
    {"accuracy", METRIC_GREATEST},
    {"acc", METRIC_GREATEST},
    {"auc", METRIC_GREATEST},
    {"f", METRIC_GREATEST}, // f1
    {"precision", METRIC_GREATEST},
    {"recall", METRIC_GREATEST},
    {"bleu", METRIC_GREATEST},
    {"rouge", METRIC_GREATEST},
    {"iou", METRIC_GREATEST},
    {"map", METRIC_GREATEST},
    {"ndcg", METRIC_GREATEST},
    {"reward", METRIC_GREATEST},
    {"score", METRIC_GREATEST},
};

static enum metric_best best_of_word(const char *at, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strlen(words[i].word) != n || strncasecmp(words[i].word, at, n) != 0)
            continue;
        if (n == 1 && at[1] != '1') // f1
            continue;
        return words[i].best;
    }
    return METRIC_UNKNOWN;
}

enum metric_best metric_best_of(const char *name)
{
    enum metric_best found = METRIC_UNKNOWN;
    while (*name) {
        size_t n = 0;
        while (isalpha((unsigned char)name[n]))
            n++;
        enum metric_best best = n ? best_of_word(name, n) : METRIC_UNKNOWN;
        found = best != METRIC_UNKNOWN ? best : found; // the last word: "accuracy_loss" is a loss
        name += n ? n : 1;
    }
    return found;
}

static enum metric_best best_told(
    cJSON *const *rows, size_t n, const struct metric_told *told, const char *name)
{
    for (; told && told->name; told++)
        if (str_eq(told->name, name))
            return told->best;
    for (size_t i = 0; i < n; i++)
        if (str_eq(json_str(rows[i], "by"), name) && json_str(rows[i], "mode"))
            return str_eq(json_str(rows[i], "mode"), "min") ? METRIC_LEAST : METRIC_GREATEST;
    return metric_best_of(name);
}

static bool is_same(cJSON *const *rows, size_t n, const char *param)
{
    const cJSON *first = json_get(json_get(rows[0], "params"), param);
    for (size_t i = 1; i < n; i++) {
        const cJSON *other = json_get(json_get(rows[i], "params"), param);
        if (!first != !other || (first && !cJSON_Compare(first, other, true)))
            return false;
    }
    return true;
}

static bool has_text(const cJSON *list, const char *text)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (str_eq(item->valuestring, text))
            return true;
    }
    return false;
}

static void add_params(cJSON *beside, cJSON *const *rows, size_t n)
{
    cJSON *differ = json_array_at(beside, "params"), *same = json_object_at(beside, "same");
    const cJSON *p;
    for (size_t i = 0; i < n; i++)
        cJSON_ArrayForEach(p, json_get(rows[i], "params"))
        {
            if (has_text(differ, p->string) || json_get(same, p->string))
                continue;
            if (is_same(rows, n, p->string))
                json_set(same, p->string, cJSON_Duplicate(p, true));
            else
                cJSON_AddItemToArray(differ, cJSON_CreateString(p->string));
        }
}

static void add_metrics(cJSON *beside, cJSON *const *rows, size_t n, const struct metric_told *told)
{
    cJSON *list = json_array_at(beside, "metrics");
    AUTO_JSON *seen = cJSON_CreateObject();
    const cJSON *m;
    for (size_t i = 0; i < n; i++)
        cJSON_ArrayForEach(m, json_get(rows[i], "metrics"))
        {
            if (json_get(seen, m->string))
                continue;
            json_set(seen, m->string, cJSON_CreateTrue());
            cJSON *one = cJSON_CreateObject();
            enum metric_best best = best_told(rows, n, told, m->string);
            json_set_str(one, "name", m->string);
            json_set_str(one, "best",
                best == METRIC_LEAST      ? "min"
                : best == METRIC_GREATEST ? "max"
                                          : NULL);
            cJSON_AddItemToArray(list, one);
        }
}

static double number_of(const cJSON *value)
{
    double v;
    if (json_number(value, &v))
        return v;
    return cJSON_IsString(value) ? strtod(value->valuestring, NULL) : NAN;
}

static cJSON *values_of(const cJSON *row, const cJSON *metrics)
{
    cJSON *values = cJSON_CreateObject();
    const cJSON *m;
    cJSON_ArrayForEach(m, metrics)
    {
        const char *name = json_str(m, "name"), *best = json_str(m, "best");
        const cJSON *found = json_get(json_get(row, "metrics"), name), *value;
        if (!found)
            continue;
        cJSON *one = json_object_at(values, name);
        static const char *const kept[] = {"step", "n"};
        json_set(one, "last", cJSON_Duplicate(json_get(found, "value"), true));
        for (size_t i = 0; i < ARRAY_LEN(kept); i++)
            if (json_get(found, kept[i]))
                json_set(one, kept[i], cJSON_Duplicate(json_get(found, kept[i]), true));
        if ((value = best ? json_get(found, best) : NULL))
            json_set(one, "best", cJSON_Duplicate(value, true));
    }
    return values;
}

static void add_runs(cJSON *beside, cJSON *const *rows, size_t n)
{
    static const char *const kept[] = {"run", "state", "started", "seconds", "params"};
    cJSON *runs = json_array_at(beside, "runs");
    for (size_t i = 0; i < n; i++) {
        cJSON *run = cJSON_CreateObject();
        for (size_t k = 0; k < ARRAY_LEN(kept); k++)
            if (json_get(rows[i], kept[k]))
                json_set(run, kept[k], cJSON_Duplicate(json_get(rows[i], kept[k]), true));
        json_set(run, "metrics", values_of(rows[i], json_get(beside, "metrics")));
        cJSON_AddItemToArray(runs, run);
    }
}

static double field_of(const cJSON *run, const char *metric, const char *field)
{
    return number_of(json_get(json_get(json_get(run, "metrics"), metric), field));
}

// Of a metric that one run alone has, nobody wins.
static void mark_best(cJSON *beside, const char *metric, bool least, const char *field)
{
    AUTO_FREE char *wins = str_fmt("%s_wins", field);
    double best = NAN;
    size_t n = 0;
    cJSON *run;
    cJSON_ArrayForEach(run, json_get(beside, "runs"))
    {
        double v = field_of(run, metric, field);
        n += !isnan(v);
        if (!isnan(v) && (isnan(best) || (least ? v < best : v > best)))
            best = v;
    }
    cJSON_ArrayForEach(run, json_get(beside, "runs"))
    {
        if (n > 1 && field_of(run, metric, field) == best)
            json_set((cJSON *)json_get(json_get(run, "metrics"), metric), wins, cJSON_CreateTrue());
    }
}

cJSON *runs_beside(cJSON *const *rows, size_t n, const struct metric_told *told)
{
    cJSON *beside = cJSON_CreateObject();
    const cJSON *m;
    if (n)
        add_params(beside, rows, n);
    add_metrics(beside, rows, n, told);
    add_runs(beside, rows, n);
    cJSON_ArrayForEach(m, json_get(beside, "metrics"))
    {
        const char *best = json_str(m, "best");
        if (!best)
            continue;
        mark_best(beside, json_str(m, "name"), str_eq(best, "min"), "last");
        mark_best(beside, json_str(m, "name"), str_eq(best, "min"), "best");
    }
    return beside;
}

static void add_text(cJSON *row, const char *text)
{
    cJSON_AddItemToArray(row, cJSON_CreateString(text));
}

// Does any run have other values than the last?
static bool has_history(const cJSON *beside, const char *metric)
{
    const cJSON *run;
    cJSON_ArrayForEach(run, json_get(beside, "runs"))
    {
        const cJSON *m = json_get(json_get(run, "metrics"), metric);
        if (json_int_or(m, "n", 0) > 1 && json_get(m, "best"))
            return true;
    }
    return false;
}

static cJSON *names_of(const cJSON *beside)
{
    cJSON *names = cJSON_CreateArray();
    const cJSON *item;
    add_text(names, "RUN");
    cJSON_ArrayForEach(item, json_get(beside, "params")) add_text(names, item->valuestring);
    cJSON_ArrayForEach(item, json_get(beside, "metrics"))
    {
        const char *name = json_str(item, "name");
        AUTO_FREE char *best = str_fmt("%s %s", json_str_or(item, "best", ""), name);
        add_text(names, name);
        if (has_history(beside, name))
            add_text(names, best);
    }
    return names;
}

static void add_value(cJSON *cells, const cJSON *metric, const char *field)
{
    AUTO_FREE char *wins = str_fmt("%s_wins", field);
    AUTO_FREE char *text = runs_text(json_get(metric, field));
    AUTO_FREE char *marked = str_fmt("%s%s", text, json_bool_or(metric, wins, false) ? "*" : "");
    add_text(cells, marked);
}

cJSON *runs_beside_table(const cJSON *beside)
{
    cJSON *table = cJSON_CreateArray();
    const cJSON *run, *item;
    cJSON_AddItemToArray(table, names_of(beside));
    cJSON_ArrayForEach(run, json_get(beside, "runs"))
    {
        cJSON *cells = cJSON_CreateArray();
        add_text(cells, json_str_or(run, "run", ""));
        cJSON_ArrayForEach(item, json_get(beside, "params"))
        {
            AUTO_FREE char *text = runs_text(json_get(json_get(run, "params"), item->valuestring));
            add_text(cells, text);
        }
        cJSON_ArrayForEach(item, json_get(beside, "metrics"))
        {
            const char *name = json_str(item, "name");
            const cJSON *metric = json_get(json_get(run, "metrics"), name);
            add_value(cells, metric, "last");
            if (has_history(beside, name))
                add_value(cells, metric, "best");
        }
        cJSON_AddItemToArray(table, cells);
    }
    return table;
}
