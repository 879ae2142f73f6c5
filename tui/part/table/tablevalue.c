// SPDX-License-Identifier: MIT
#include "tui/part/table/tablevalue.h"

#include "base/clock.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/grid/look.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

const char *tablevalue_column(const cJSON *columns, int i)
{
    return tabletext_column(cJSON_GetArrayItem(columns, i));
}

int tablevalue_width(const cJSON *table, int most)
{
    const cJSON *columns = json_get(table, "columns"), *rows = json_get(table, "rows");
    const cJSON *first = rows ? rows->child : NULL;
    int n = columns && columns->child
                ? cJSON_GetArraySize(columns)
                : cJSON_GetArraySize(json_get(first, "cells") ? json_get(first, "cells") : first);
    return n < most ? n : most;
}

void tablevalue_clean(buf *words)
{
    bool plain = true; // almost all texts are ASCII
    for (size_t k = 0; k < words->len; k++) {
        if ((unsigned char)words->data[k] < ' ')
            words->data[k] = ' ';
        plain = plain && (unsigned char)words->data[k] < 0x7f;
    }
    if (plain)
        return;
    AUTO_FREE char *text = buf_take(words);
    printable(words, text, strlen(text));
}

void tablevalue_entry(const cJSON *columns, const cJSON *row, int i, int64_t now, buf *out)
{
    buf_clear(out);
    tabletext_entry(tabletext_cell(row, cJSON_GetArrayItem(columns, i), i), now, out);
    tablevalue_clean(out);
}

int tablevalue_entry_width(const cJSON *columns, const cJSON *row, int i)
{
    int64_t ignored;
    const cJSON *entry = tabletext_cell(row, cJSON_GetArrayItem(columns, i), i);
    AUTO_BUF words = {0};
    if (!tabletext_since(entry, &ignored)) {
        tablevalue_entry(columns, row, i, 0, &words);
        return text_width(buf_cstr(&words), words.len, 0);
    }
    buf_str(&words, json_str_or(entry, "before", ""));
    buf_str(&words, json_str_or(entry, "after", ""));
    return text_width(buf_cstr(&words), words.len, 0) + AGE_WIDTH;
}

bool tablevalue_keeps(const cJSON *table, const char *column)
{
    const cJSON *k;
    cJSON_ArrayForEach(k, json_get(table, "keep"))
    {
        if (cJSON_IsString(k) && str_eq(k->valuestring, column))
            return true;
    }
    return false;
}

// Seconds or bytes in a unit; 0 if it is no unit. "m" is a minute, since tables have ages, and
// hardly ever millicores.
static double unit(const char *s, size_t n)
{
    static const struct {
        const char *name;
        double worth;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60},
        {"h", 3600}, {"d", 86400}, {"y", 365 * 86400.0}, {"Ki", 1024.0}, {"Mi", 1048576.0},
        {"Gi", 1073741824.0}, {"Ti", 1099511627776.0}, {"k", 1e3}, {"kB", 1e3}, {"M", 1e6},
        {"MB", 1e6}, {"G", 1e9}, {"GB", 1e9}, {"T", 1e12}, {"TB", 1e12}, {"B", 1}, {"%", 1},
        {"*", 1}}; // the best of its column
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (strlen(units[i].name) == n && memcmp(units[i].name, s, n) == 0)
            return units[i].worth;
    return 0;
}

bool tablevalue_worth(const char *words, double *worth)
{
    *worth = 0;
    if (!isdigit((unsigned char)*words) && *words != '-' && *words != '.')
        return false;
    for (const char *s = words; *s;) {
        char *end;
        double number = strtod(s, &end);
        if (end == s || !isfinite(number)) // "-nan" cannot be sorted
            return false;
        size_t n = 0;
        while (end[n] && !isdigit((unsigned char)end[n]) && !strchr(" /.-", end[n]))
            n++;
        double of = n ? unit(end, n) : 1;
        if (of == 0)
            return false;
        *worth += number * of;
        s = end + n;
        if (*s == ' ' && s[1] != '(')
            s++;
        if (*s == ' ' || (*s && n == 0 && *s != '/'))
            return *s == ' '; // "4 (2m ago)" is 4
        if (*s == '/') {
            double all = strtod(s + 1, &end);
            *worth = all != 0 ? *worth / all : 0;
            return end > s + 1 && !*end;
        }
    }
    return true;
}

static bool has_any(const char *words, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasestr(words, list[i]))
            return true;
    return false;
}

// One word, or several without blanks between them ("Init:CrashLoopBackOff"); sentences get no
// colour.
style tablevalue_look(const char *words)
{
    static const char *const good[] = {"Running", "Completed", "Succeeded", "True", "ok", "Ready",
        "Active", "Bound", "Available", "Normal"};
    static const char *const bad[] = {"Fail", "Error", "Err", "BackOff", "OOM", "Evicted",
        "Invalid", "Lost", "Unknown", "Killed"};
    static const char *const wait[] = {"Pending", "Creating", "Submitted", "Terminating",
        "Initializ", "Init:", "Warning", "NotReady", "Waiting", "Queued", "Unschedulable"};
    if (!isalpha((unsigned char)*words) || strchr(words, ' ') || strlen(words) > 40 ||
        strchr(words, '/') || strchr(words, '-'))
        return (style){0};
    if (has_any(words, bad, ARRAY_LEN(bad)))
        return LOOK_ERROR;
    if (has_any(words, wait, ARRAY_LEN(wait)))
        return LOOK_WARN;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (strcasecmp(words, good[i]) == 0)
            return LOOK_GOOD;
    return (style){0};
}
