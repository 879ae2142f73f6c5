// SPDX-License-Identifier: MIT
#include "base/json/yamlscalar.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORE "tag:yaml.org,2002:"

static bool one_of(const char *s, const char *const words[])
{
    for (; *words; words++)
        if (strcmp(s, *words) == 0)
            return true;
    return false;
}

static const char *const trues[] = {
    "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", NULL};
static const char *const falses[] = {
    "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF", NULL};
static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
static const char *const infinities[] = {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
    "-.Inf", "-.INF", ".nan", ".NaN", ".NAN", NULL};

bool yaml_is_bool(const char *s)
{
    return one_of(s, trues) || one_of(s, falses);
}

static size_t digits(const char *s, size_t most)
{
    size_t n = 0;
    while (n < most && isdigit((unsigned char)s[n]))
        n++;
    return n;
}

bool yaml_is_date(const char *s)
{
    size_t month, day;
    if (digits(s, 5) != 4 || s[4] != '-' || (month = digits(s += 5, 2)) == 0 || s[month] != '-' ||
        (day = digits(s += month + 1, 2)) == 0)
        return false;
    return !s[day] || (strchr("Tt ", s[day]) && isdigit((unsigned char)s[day + 1]));
}

// The base that the digits have, and where they begin: strconv.ParseInt with base 0.
static int base_of(const char **p)
{
    static const char letters[] = "xbo";
    static const int bases[] = {16, 2, 8};
    if ((*p)[0] != '0' || !(*p)[1])
        return 10;
    const char *letter = strchr(letters, tolower((unsigned char)(*p)[1]));
    if (!letter || !(*p)[2]) {
        ++*p;
        return 8;
    }
    *p += 2;
    return bases[letter - letters];
}

static bool has_digits(const char *p, int base)
{
    static const char all[] = "0123456789abcdef";
    const char *first = p;
    for (; *p; p++) {
        const char *digit = strchr(all, tolower((unsigned char)*p));
        if (!digit || digit - all >= base)
            return false;
    }
    return p > first;
}

// plain: the number without "_". NULL: it is not an integer of 64 bits, signed or unsigned.
static cJSON *integer(const char *plain)
{
    bool minus = *plain == '-';
    const char *p = plain + (minus || *plain == '+');
    int base = base_of(&p);
    if (!has_digits(p, base))
        return NULL;
    errno = 0;
    uint64_t value = strtoull(p, NULL, base);
    if (errno || (minus && value > (uint64_t)INT64_MAX + 1))
        return NULL;
    if (minus)
        return json_new_int(value ? -(int64_t)(value - 1) - 1 : 0);
    if (value <= INT64_MAX)
        return json_new_int((int64_t)value);
    AUTO_FREE char *text = *plain == '+' ? NULL : str_fmt("%" PRIu64, value);
    return text ? cJSON_CreateRaw(text) : NULL;
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
static bool looks_real(const char *p)
{
    p += *p == '-' || *p == '+';
    size_t before = digits(p, SIZE_MAX), after = 0;
    p += before;
    if (*p == '.')
        p += 1 + (after = digits(p + 1, SIZE_MAX));
    if (!before && !after)
        return false;
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '-' || p[1] == '+');
        size_t n = digits(p, SIZE_MAX);
        return n && !p[n];
    }
    return !*p;
}

static cJSON *real(const char *plain)
{
    double value = looks_real(plain) ? strtod(plain, NULL) : INFINITY;
    return isfinite(value) ? cJSON_CreateNumber(value) : NULL;
}

// NULL: it is not a number. Ignores "_" if the scalar begins with a digit or a sign, but not if it
// begins with ".".
static cJSON *number(const char *s, bool *is_real)
{
    *is_real = *s == '.';
    if (*is_real)
        return real(s);
    if (!isdigit((unsigned char)*s) && *s != '-' && *s != '+')
        return NULL;
    AUTO_BUF plain = {0};
    for (const char *p = s; *p; p++)
        if (*p != '_')
            buf_char(&plain, *p);
    cJSON *value = integer(buf_cstr(&plain));
    *is_real = !value;
    return value ? value : real(buf_cstr(&plain));
}

bool yaml_is_real(const char *text)
{
    bool is_real;
    AUTO_JSON *value = number(text, &is_real);
    return value && is_real;
}

static cJSON *binary(const char *text, err *e)
{
    AUTO_BUF bytes = {0}, clean = {0};
    if (base64_decode(&bytes, text, strlen(text), e) != 0)
        return NULL;
    utf8_clean(&clean, bytes.data, bytes.len);
    return cJSON_CreateString(buf_cstr(&clean));
}

static cJSON *resolve(const char *s, err *e)
{
    bool is_real;
    cJSON *value = one_of(s, nulls)    ? cJSON_CreateNull()
                   : one_of(s, trues)  ? cJSON_CreateTrue()
                   : one_of(s, falses) ? cJSON_CreateFalse()
                                       : number(s, &is_real);
    if (value || !one_of(s, infinities))
        return value ? value : cJSON_CreateString(s);
    err_set(e, ERR_INVALID,
        "“%s” is a number that JSON has no form for: write it in quotes if a text is meant", s);
    return NULL;
}

static bool is_real_date(const char *s)
{
    int year, month, day, n = 0;
    return yaml_is_date(s) && sscanf(s, "%4d-%2d-%2d%n", &year, &month, &day, &n) == 3 && n &&
           month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

static bool fits(const char *kind, const cJSON *value, const char *text)
{
    int64_t ignored;
    if (str_eq(kind, "null"))
        return cJSON_IsNull(value);
    if (str_eq(kind, "bool"))
        return cJSON_IsBool(value);
    if (str_eq(kind, "timestamp"))
        return is_real_date(text); // it stays a text
    bool is_real = yaml_is_real(text), is_number = cJSON_IsNumber(value) || cJSON_IsRaw(value);
    return str_eq(kind, "int") ? is_number && !is_real : is_real || json_int(value, &ignored);
}

cJSON *yaml_scalar(const char *tag, const char *text, bool quoted, err *e)
{
    static const char *const kinds[] = {"null", "bool", "int", "float", "timestamp", NULL};
    if (!tag)
        return quoted ? cJSON_CreateString(text) : resolve(text, e);
    const char *kind = str_starts(tag, CORE) ? tag + strlen(CORE) : "";
    if (str_eq(kind, "binary"))
        return binary(text, e);
    if (!one_of(kind, kinds))
        return cJSON_CreateString(text);
    AUTO_JSON *value = resolve(text, e);
    if (!value)
        return NULL;
    double number;
    if (fits(kind, value, text))
        return str_eq(kind, "float") && json_number(value, &number) ? cJSON_CreateNumber(number)
                                                                    : STEAL(value);
    err_set(e, ERR_INVALID, "what follows is no !!%s", kind);
    return NULL;
}
