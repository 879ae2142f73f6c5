// SPDX-License-Identifier: MIT
// A comparison of two runs as lines for people.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/compare/compare.h"
#include "script/journal/runs/runs.h"

#include <math.h>
#include <string.h>

static const double WORTH_TELLING = 0.1; // shorter differences of a cell's duration are not shown

char *compare_value_text(const cJSON *value)
{
    if (!value)
        return mem_strdup("(none)");
    const char *digest = json_str(value, "sha256");
    const char *text = digest ? digest : cJSON_IsString(value) ? value->valuestring : NULL;
    size_t hex = text ? strspn(text, "0123456789abcdef") : 0;
    if (text && hex == strlen(text) && hex >= 16) // a digest
        return mem_strndup(text, 12);
    return cJSON_IsNumber(value) && floor(value->valuedouble) != value->valuedouble
               ? str_fmt("%.10g", value->valuedouble)
               : runs_text(value);
}

static void print_pairs(const cJSON *difference, const char *name, buf *out)
{
    const cJSON *p, *list = json_get(difference, name);
    if (!list)
        return;
    buf_fmt(out, "%s\n", name);
    cJSON_ArrayForEach(p, list)
    {
        AUTO_FREE char *a = compare_value_text(json_get(p, "a"));
        AUTO_FREE char *b = compare_value_text(json_get(p, "b"));
        const cJSON *change = json_get(p, "change");
        buf_fmt(out, "  %s: %s → %s", p->string, a, b);
        if (change)
            buf_fmt(out, " (%+.6g)", change->valuedouble);
        buf_char(out, '\n');
    }
}

static void print_diff(const char *diff, const char *indent, buf *out)
{
    for (int head = 0; head < 2 && *diff; head++) // "--- a", "+++ b"
        diff += strcspn(diff, "\n") + 1;
    for (size_t n; *diff; diff += n + (diff[n] == '\n')) {
        n = strcspn(diff, "\n");
        buf_fmt(out, "%s%.*s\n", indent, (int)n, diff);
    }
}

static void print_diffs(const cJSON *difference, const char *name, const char *what, buf *out)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json_get(difference, name))
    {
        buf_fmt(out, "%s \"%s\"%s%s\n", what, json_str_or(entry, "title", ""),
            str_eq(json_str_or(entry, "change", "source"), "source") ? "" : " was ",
            str_eq(json_str_or(entry, "change", "source"), "source") ? ""
                                                                     : json_str(entry, "change"));
        print_diff(json_str_or(entry, "diff", ""), "  ", out);
    }
}

static void print_causes(const cJSON *difference, buf *out)
{
    const cJSON *cause, *change, *causes = json_get(difference, "causes");
    if (causes && causes->child)
        buf_str(
            out, "the earliest change that reaches it, by what cells recorded of their reads\n");
    cJSON_ArrayForEach(cause, causes)
    {
        const char *first = json_str(cause, "earliest"), *unknown = json_str(cause, "unknown");
        bool more = false;
        buf_fmt(out, "  %s (told by \"%s\"): %s", cause->string, json_str_or(cause, "cell", "?"),
            unknown ? unknown
            : first ? first
                    : "none of the changes above");
        cJSON_ArrayForEach(change, json_get(cause, "all"))
        {
            if (!first || str_eq(first, change->valuestring))
                continue;
            buf_fmt(out, "%s%s", more ? ", " : "; also ", change->valuestring);
            more = true;
        }
        buf_char(out, '\n');
    }
}

static void print_states(const cJSON *difference, buf *out)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json_get(difference, "states")) buf_fmt(out, "cell \"%s\": %s → %s\n",
        json_str_or(entry, "title", ""), json_str_or(entry, "a", ""), json_str_or(entry, "b", ""));
}

static void print_seconds(const cJSON *a, const cJSON *b, const char *title, buf *out)
{
    if (!a || !b || fabs(b->valuedouble - a->valuedouble) < WORTH_TELLING)
        return;
    buf_fmt(out, "  %s: ", title);
    duration_format(out, (int64_t)(a->valuedouble * CLOCK_SEC));
    buf_str(out, " → ");
    duration_format(out, (int64_t)(b->valuedouble * CLOCK_SEC));
    buf_char(out, '\n');
}

static void print_durations(const cJSON *difference, buf *out)
{
    AUTO_BUF text = {0};
    const cJSON *entry;
    print_seconds(
        json_path(difference, "a.seconds"), json_path(difference, "b.seconds"), "in all", &text);
    cJSON_ArrayForEach(entry, json_get(difference, "durations")) print_seconds(
        json_get(entry, "a"), json_get(entry, "b"), json_str_or(entry, "title", ""), &text);
    if (text.len)
        buf_fmt(out, "durations\n%s", buf_cstr(&text));
}

void compare_print(const cJSON *difference, buf *out)
{
    static const char *const sides[] = {"a", "b"};
    for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
        const cJSON *h = json_get(difference, sides[i]);
        buf_fmt(out, "%s  %s, %s, started %s\n", sides[i], json_str_or(h, "run", "?"),
            json_str_or(h, "state", "?"), json_str_or(h, "started", "?"));
    }
    static const char *const before[] = {"params", "inputs", "images", "objects", "variables",
        "versions", "programs", "environment", "origin"},
                             *const after[] = {"metrics", "artifacts", "tags"};
    for (size_t i = 0; i < ARRAY_LEN(before); i++)
        print_pairs(difference, before[i], out);
    print_diffs(difference, "cells", "cell", out);
    for (size_t i = 0; i < ARRAY_LEN(after); i++)
        print_pairs(difference, after[i], out);
    print_causes(difference, out);
    print_states(difference, out);
    print_diffs(difference, "outputs", "output of", out);
    print_durations(difference, out);
    if (json_bool_or(difference, "same", false))
        buf_str(out, "Parameters, sources, inputs, metrics and outputs are the same.\n");
}

static void print_result(const cJSON *r, const char *verdict, buf *out)
{
    bool is_output = str_eq(json_str(r, "what"), "output");
    buf_fmt(out, "  %s: %s%s%s%s", verdict, json_str_or(r, "what", ""), is_output ? " of \"" : " ",
        json_str_or(r, "name", ""), is_output ? "\"" : "");
    if (json_get(r, "a") && json_get(r, "b")) {
        AUTO_FREE char *a = compare_value_text(json_get(r, "a"));
        AUTO_FREE char *b = compare_value_text(json_get(r, "b"));
        buf_fmt(out, ", %s → %s", a, b);
    }
    if (json_str(r, "why"))
        buf_fmt(out, ", %s", json_str(r, "why"));
    buf_char(out, '\n');
    print_diff(json_str_or(r, "diff", ""), "    ", out);
}

void compare_again_print(const cJSON *again, buf *out)
{
    static const struct {
        const char *name, *text;
        bool each;
    } verdicts[] = {{"equal", "bit-equal", false}, {"within", "within the tolerance", true},
        {"moved", "moved", true}, {"unknown", "not compared", true}};
    buf_fmt(out, "compared with %s", json_str_or(again, "a", "?"));
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++)
        buf_fmt(out, "%s %lld %s", i ? "," : ":",
            (long long)json_int_or(again, verdicts[i].name, 0), verdicts[i].text);
    buf_char(out, '\n');
    const cJSON *r;
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++)
        cJSON_ArrayForEach(r, json_get(again, "results"))
        {
            if (verdicts[i].each && str_eq(json_str(r, "verdict"), verdicts[i].name))
                print_result(r, verdicts[i].text, out);
        }
}
