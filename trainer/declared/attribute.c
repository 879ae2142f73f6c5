// SPDX-License-Identifier: MIT
#include "trainer/declared/attribute.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const attribute *attribute_next(const declaration *d, const attribute *last)
{
    const attribute *next = last ? last + 1 : d->attributes;
    return next && next->name ? next : NULL;
}

#define EACH(a, d)                                                                                 \
    const attribute *a = attribute_next(d, NULL);                                                  \
    a;                                                                                             \
    a = attribute_next(d, a)

const attribute *attribute_find(const declaration *d, const char *name)
{
    for (EACH(a, d))
        if (str_eq(a->name, name))
            return a;
    return NULL;
}

void declaration_defaults(const declaration *d, void *own)
{
    if (d->size)
        memset(own, 0, d->size);
    for (EACH(a, d)) {
        void *at = attribute_at(a, own);
        size_t size = (size_t)(isfinite(a->otherwise) && a->otherwise > 0 ? a->otherwise : 0);
        switch (a->type) {
        case ATTRIBUTE_SIZE:
        case ATTRIBUTE_LENGTH:
            *(size_t *)at = size;
            break;
        case ATTRIBUTE_PAIR:
            memcpy(at, (size_t[]){size, size}, 2 * sizeof size);
            break;
        case ATTRIBUTE_SIDES:
            memcpy(at, (size_t[]){size, size, size, size}, 4 * sizeof size);
            break;
        case ATTRIBUTE_NUMBER:
        case ATTRIBUTE_RATE:
            *(double *)at = a->otherwise;
            break;
        case ATTRIBUTE_WHOLE:
            *(int64_t *)at = (int64_t)a->otherwise;
            break;
        case ATTRIBUTE_FLOAT:
            *(float *)at = (float)a->otherwise;
            break;
        case ATTRIBUTE_BOOL:
            *(bool *)at = a->otherwise > 0;
            break;
        case ATTRIBUTE_CHOICE:
        case ATTRIBUTE_AXIS:
        case ATTRIBUTE_AXES:
            *(int *)at = (int)a->otherwise;
            break;
        case ATTRIBUTE_NOT: // true is the default of these options, and of shapes and lists nothing
        case ATTRIBUTE_SHAPE:
        case ATTRIBUTE_OPEN_SHAPE:
        case ATTRIBUTE_NUMBERS:
        case ATTRIBUTE_LUA:
            break;
        }
    }
}

static bool ranged(const attribute *a)
{
    return a->least < 0 || a->least > 0 || a->most > 0;
}

int attribute_check_number(const attribute *a, double value, const char *got, err *e)
{
    char text[32];
    bool whole = a->type == ATTRIBUTE_SIZE || a->type == ATTRIBUTE_LENGTH;
    bool low = !(value >= a->least), high = a->open ? !(value < a->most) : !(value <= a->most);
    snprintf(text, sizeof text, "%.14g", value);
    got = got ? got : text;
    if (!ranged(a))
        return isfinite(value) ? 0
                               : err_set(e, ERR_USAGE, "%s must be finite, got %s", a->name, got);
    if (!low && !high)
        return 0;
    if (whole && low && a->least > 0 && a->least < 2)
        return err_set(e, ERR_USAGE, "%s must be positive, got %s", a->name, got);
    if (isinf(a->most))
        return err_set(e, ERR_USAGE, "%s must be %g or more, got %s", a->name, a->least, got);
    return err_set(e, ERR_USAGE, "%s must be from %.14g to %s%.14g, got %s", a->name, a->least,
        a->open ? "less than " : "", a->most, got);
}

// By the words of who set a number later: "momentum must be at least 0 and less than 1, not 1.5".
static int check_set(const attribute *a, double value, err *e)
{
    if (!ranged(a) && isfinite(value))
        return 0;
    if (ranged(a) && value >= a->least && !(a->positive && value <= 0) &&
        (a->open ? value < a->most : value <= a->most))
        return 0;
    if (!ranged(a))
        return err_set(e, ERR_USAGE, "%s must be finite, not %g", a->name, value);
    if (a->positive)
        return err_set(e, ERR_USAGE, "%s must be greater than 0, not %g", a->name, value);
    return err_set(e, ERR_USAGE, "%s must be at least %g%s, not %g", a->name, a->least,
        isfinite(a->most) ? " and less than 1" : "", value);
}

const double *attribute_number(const attribute *a, const void *own)
{
    bool number = a->type == ATTRIBUTE_NUMBER || a->type == ATTRIBUTE_RATE;
    return number ? attribute_of(a, own) : NULL;
}

int declaration_check(const declaration *d, const void *own, err *e)
{
    for (EACH(a, d)) {
        const double *value = attribute_number(a, own);
        if (value && check_set(a, *value, e) < 0)
            return -1;
    }
    return 0;
}

void attribute_choices(const attribute *a, buf *out)
{
    for (size_t i = 0; a->choices[i]; i++)
        buf_fmt(out, "%s\"%s\"", !i ? "" : a->choices[i + 1] ? ", " : " or ", a->choices[i]);
}

int attribute_parse_choice(const attribute *a, const char *text, int *value, err *e)
{
    AUTO_BUF lower = {0}, known = {0};
    if (a->parse)
        return a->parse(text, value, e);
    for (const char *c = text; *c; c++)
        buf_char(&lower, (char)tolower((unsigned char)*c)); // as Keras takes them
    for (int i = 0; a->choices[i]; i++)
        if (str_eq(a->choices[i], buf_cstr(&lower))) {
            *value = i;
            return 0;
        }
    attribute_choices(a, &known);
    return err_set(e, ERR_USAGE, "%s must be %s, got \"%s\"", a->name, buf_cstr(&known),
        str_short_line(buf_cstr(&lower), 80).text);
}

void declaration_text(const declaration *d, const void *own, buf *out)
{
    const char *between = "";
    for (EACH(a, d)) {
        const void *at = attribute_of(a, own);
        const size_t *sizes = at;
        const row_shape *shape = at;
        if (!a->shown)
            continue;
        if ((a->type == ATTRIBUTE_SHAPE || a->type == ATTRIBUTE_OPEN_SHAPE) && !shape->dims)
            continue;
        buf_str(out, between);
        between = ", ";
        switch (a->type) {
        case ATTRIBUTE_SIZE:
        case ATTRIBUTE_LENGTH:
            buf_fmt(out, "%zu", *sizes);
            break;
        case ATTRIBUTE_PAIR:
            buf_fmt(out, "%zux%zu", sizes[0], sizes[1]);
            break;
        case ATTRIBUTE_NUMBER:
            buf_fmt(out, "%g", *(const double *)at);
            break;
        case ATTRIBUTE_FLOAT:
            buf_fmt(out, "%g", (double)*(const float *)at);
            break;
        case ATTRIBUTE_CHOICE:
            buf_str(out, a->choices[*(const int *)at]);
            break;
        case ATTRIBUTE_SHAPE:
        case ATTRIBUTE_OPEN_SHAPE:
            for (int i = 0; i < shape->dims; i++)
                buf_fmt(out, "%s%zu", i ? ", " : "", shape->size[i]);
            break;
        default:
            break;
        }
    }
}

// A default as a signature has it; "" for none.
static void add_default(const attribute *a, buf *out)
{
    if (a->signature)
        buf_str(out, a->signature);
    else if (a->type == ATTRIBUTE_CHOICE)
        buf_fmt(out, "\"%s\"", a->choices[(int)a->otherwise]);
    else if (a->type == ATTRIBUTE_NOT)
        buf_str(out, "true");
    else if (a->type == ATTRIBUTE_BOOL)
        buf_str(out, a->otherwise > 0 ? "true" : "false");
    else if (a->type == ATTRIBUTE_AXIS || a->type == ATTRIBUTE_AXES)
        buf_str(out, "-1");
    else if (a->type < ATTRIBUTE_BOOL || a->type == ATTRIBUTE_PAIR || a->type == ATTRIBUTE_LENGTH ||
             a->type == ATTRIBUTE_SIDES)
        buf_fmt(out, "%.14g", a->otherwise);
}

static void add_option(const declaration *d, const attribute *a, buf *out)
{
    buf_fmt(out, "%s%s", out->len ? ", " : "", a->name);
    if (a->required && !d->rest)
        return;
    buf_char(out, '=');
    add_default(a, out);
}

static bool is_named(const attribute *a, const char *name, size_t n)
{
    return strlen(a->name) == n && memcmp(a->name, name, n) == 0;
}

static bool has_place(const declaration *d, const attribute *a)
{
    for (const char *at = d->places; at && *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        if (is_named(a, at, n))
            return true;
        at += n;
    }
    return false;
}

// Those that have a place come first, in their order.
void declaration_signature(const declaration *d, buf *out)
{
    if (d->rest)
        buf_str(out, "n, m");
    for (const char *at = d->places; at && *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        for (EACH(a, d))
            if (is_named(a, at, n))
                add_option(d, a, out);
        at += n;
    }
    for (EACH(a, d))
        if (!a->no_option && !has_place(d, a))
            add_option(d, a, out);
}

void declaration_done(const declaration *d, void *own)
{
    for (EACH(a, d))
        if (a->type == ATTRIBUTE_NUMBERS) {
            number_list *list = attribute_at(a, own);
            free((void *)list->values);
            *list = (number_list){0};
        }
}

void declaration_copy(const declaration *d, void *own)
{
    for (EACH(a, d))
        if (a->type == ATTRIBUTE_NUMBERS) {
            number_list *list = attribute_at(a, own);
            list->values = list->n ? mem_dup(list->values, list->n * sizeof *list->values) : NULL;
        }
}
