// SPDX-License-Identifier: MIT
#include "base/data/quantity.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// As in k8s.io/apimachinery/pkg/api/resource: binary suffixes, then decimal ones.
static const struct {
    const char *suffix;
    double factor;
} suffixes[] = {
    {"", 1},
    {"Ki", 0x1p10},
    {"Mi", 0x1p20},
    {"Gi", 0x1p30},
    {"Ti", 0x1p40},
    {"Pi", 0x1p50},
    {"n", 1e-9},
    {"u", 1e-6},
    {"m", 1e-3},
    {"k", 1e3},
    {"M", 1e6},
    {"G", 1e9},
    {"T", 1e12},
    {"P", 1e15},
};

static int parse(const char *text, long double parts, int64_t *out, err *e)
{
    const char *at = text + (*text == '+' || *text == '-');
    if (!isdigit((unsigned char)*at) && *at != '.')
        return err_set(e, ERR_INVALID, "\"%s\" is not a quantity", text);
    size_t digits = strspn(at, "0123456789.");
    // strtold would also read "1e3" and "0x1", so an exponent is read only where one is allowed.
    const char *rest = at + digits;
    char *end = NULL;
    long double value = strtold(text, &end);
    if (end < rest || strchr("xX", rest[0] ? rest[0] : ' '))
        return err_set(e, ERR_INVALID, "\"%s\" is not a quantity", text);
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        if (!str_eq(end, suffixes[i].suffix))
            continue;
        long double scaled = ceill(value * (long double)suffixes[i].factor * parts - 1e-6L);
        if (fabsl(scaled) >= 0x1p63L)
            return err_set(e, ERR_LIMIT, "\"%s\" is too large a quantity", text);
        *out = (int64_t)scaled;
        return 0;
    }
    return err_set(e, ERR_INVALID, "\"%s\" is not a quantity: unknown suffix \"%s\"", text, end);
}

int quantity_parse(const char *text, int64_t *milli, err *e)
{
    return parse(text, 1e3L, milli, e);
}

int quantity_parse_nano(const char *text, int64_t *nano, err *e)
{
    return parse(text, 1e9L, nano, e);
}

int quantity_parse_jvm(const char *text, int64_t *bytes, err *e)
{
    char *end = NULL;
    long long value = strtoll(text, &end, 10);
    static const struct {
        const char *suffix;
        int shift;
    } units[] = {{"", 20}, {"b", 0}, {"k", 10}, {"kb", 10}, {"m", 20}, {"mb", 20}, {"g", 30},
        {"gb", 30}, {"t", 40}, {"tb", 40}};
    for (size_t i = 0; end != text && value >= 0 && i < ARRAY_LEN(units); i++) {
        if (strcasecmp(end, units[i].suffix) != 0)
            continue;
        if (value > INT64_MAX >> units[i].shift)
            return err_set(e, ERR_LIMIT, "\"%s\" is too large a size", text);
        *bytes = (int64_t)value << units[i].shift;
        return 0;
    }
    return err_set(e, ERR_INVALID, "\"%s\" is not a size such as 512m or 2g", text);
}
