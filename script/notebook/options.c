// SPDX-License-Identifier: MIT
// The options of a marker line: one table has their names, types and checks.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <string.h>

static int set_text(const cJSON *value, char **out, err *e)
{
    if (!cJSON_IsString(value) || !*value->valuestring)
        return err_set(e, ERR_USAGE, "needs a text in quotes");
    *out = mem_strdup(value->valuestring);
    return 0;
}

static int set_file(struct cell_options *o, const cJSON *value, err *e)
{
    return set_text(value, &o->file, e);
}

static int set_template(struct cell_options *o, const cJSON *value, err *e)
{
    return set_text(value, &o->template_, e);
}

static int set_capture(struct cell_options *o, const cJSON *value, err *e)
{
    if (set_text(value, &o->capture, e) < 0)
        return -1;
    bool name = !isdigit((unsigned char)*o->capture);
    for (const char *p = o->capture; *p; p++)
        name = name && (isalnum((unsigned char)*p) || *p == '_');
    return name ? 0 : err_set(e, ERR_USAGE, "\"%s\" is no name of a Lua variable", o->capture);
}

static int one_of(const char *word, const char *const *names, err *e)
{
    AUTO_BUF list = {0};
    for (const char *const *name = names; *name; name++) {
        if (str_eq(word, *name))
            return 0;
        buf_fmt(&list, "%s%s", list.len ? ", " : "", *name);
    }
    const char *near = str_nearest(word, names);
    if (near)
        return err_set(e, ERR_USAGE, "\"%s\" is not known; did you mean \"%s\"?", word, near);
    return err_set(e, ERR_USAGE, "\"%s\" is not known; it is one of %s", word, buf_cstr(&list));
}

static int set_kernel(struct cell_options *o, const cJSON *value, err *e)
{
    return set_text(value, &o->kernel, e);
}

static int set_language(struct cell_options *o, const cJSON *value, err *e)
{
    if (set_text(value, &o->language, e) < 0)
        return -1;
    if (!jupyter_language(o->language) && one_of(o->language, language_names(), e) < 0)
        return -1;
    if (str_eq(o->language, "lua"))
        free(STEAL(o->language));
    return 0;
}

static int set_timeout(struct cell_options *o, const cJSON *value, err *e)
{
    if (cJSON_IsNumber(value))
        return err_set(
            e, ERR_USAGE, "needs a duration in quotes: timeout=\"%gs\"", value->valuedouble);
    if (!cJSON_IsString(value))
        return err_set(e, ERR_USAGE, "needs a duration in quotes: timeout=\"10m\"");
    if (duration_parse(value->valuestring, &o->timeout_ns, e) < 0)
        return -1;
    return o->timeout_ns > 0 ? 0 : err_set(e, ERR_USAGE, "must be more than nothing");
}

static int set_tolerance(struct cell_options *o, const cJSON *value, err *e)
{
    if (!cJSON_IsNumber(value) || !(value->valuedouble >= 0))
        return err_set(e, ERR_USAGE, "needs a number of 0 or more: tolerance=1e-6");
    o->tolerance = value->valuedouble;
    return 0;
}

// A list of words: ["a", "b"], or "a,b".
static int set_words(const cJSON *value, char ***out, err *e)
{
    if (cJSON_IsString(value)) {
        char **parts = strv_split(value->valuestring, ',');
        for (char **p = parts; *p; p++) {
            AUTO_FREE char *word = str_trim(*p, strlen(*p));
            *out = strv_add(*out, word);
        }
        strv_free(parts);
        return 0;
    }
    if (!cJSON_IsArray(value))
        return err_set(e, ERR_USAGE, "needs a list: [\"one\", \"two\"]");
    *out = mem_array(1, sizeof **out);
    for (const cJSON *item = value->child; item; item = item->next) {
        if (!cJSON_IsString(item))
            return err_set(e, ERR_USAGE, "needs a list of texts");
        *out = strv_add(*out, item->valuestring);
    }
    return 0;
}

static int set_tags(struct cell_options *o, const cJSON *value, err *e)
{
    return set_words(value, &o->tags, e);
}

static int set_inputs(struct cell_options *o, const cJSON *value, err *e)
{
    return set_words(value, &o->inputs, e);
}

static int set_outputs(struct cell_options *o, const cJSON *value, err *e)
{
    return set_words(value, &o->outputs, e);
}

static int set_effects(struct cell_options *o, const cJSON *value, err *e)
{
    static const char *const names[] = {"pure", "local", "cluster", "destructive", NULL};
    if (set_words(value, &o->effects, e) < 0)
        return -1;
    for (char **word = o->effects; *word; word++)
        if (one_of(*word, names, e) < 0)
            return -1;
    return 0;
}

static int set_retries(struct cell_options *o, const cJSON *value, err *e)
{
    enum { MOST = 100 };
    double n = cJSON_IsNumber(value) ? value->valuedouble : -1;
    if (n < 0 || n > MOST || n != (int)n)
        return err_set(e, ERR_USAGE, "needs a number from 0 to %d: retries=2", MOST);
    o->retries = (int)n;
    return 0;
}

const char *options_when_meant(const char *when)
{
    static const char *const words[] = {"always", "failed", NULL};
    bool name = !isdigit((unsigned char)*when);
    for (const char *p = when; *p; p++)
        name = name && (isalnum((unsigned char)*p) || *p == '_');
    if (!name || str_eq(when, words[0]) || str_eq(when, words[1]))
        return NULL;
    return str_nearest(when, words);
}

int options_refuse_when(const char *when, const char *meant, err *e)
{
    return err_set(e, ERR_USAGE,
        "\"%s\" is neither \"always\" nor \"failed\" nor a Lua expression; did you mean \"%s\"?",
        when, meant);
}

// One slip is a mistake in any case; whether two make a variable's name, only the notebook tells.
static int set_when(struct cell_options *o, const cJSON *value, err *e)
{
    if (set_text(value, &o->when, e) < 0)
        return -1;
    const char *meant = options_when_meant(o->when);
    if (!meant || str_distance(o->when, meant) > 1)
        return 0;
    return options_refuse_when(o->when, meant, e);
}

static int set_nothing(struct cell_options *o, const cJSON *value, err *e)
{
    return cJSON_IsString(value) ? 0 : err_set(e, ERR_USAGE, "needs a text in quotes");
}

static const struct {
    const char *name;
    int (*set)(struct cell_options *o, const cJSON *value, err *e);
} table[] = {
    {"file", set_file}, {"template", set_template}, {"language", set_language},
    {"kernel", set_kernel}, {"capture", set_capture}, {"tags", set_tags}, {"timeout", set_timeout},
    {"inputs", set_inputs}, {"outputs", set_outputs}, {"effects", set_effects},
    {"retries", set_retries}, {"when", set_when}, {"tolerance", set_tolerance}, {"id", set_nothing},
    {"magic_args", set_nothing}, // jupytext makes this of "%%bash ARGUMENTS"
};

bool option_is_ours(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (str_eq(name, table[i].name))
            return true;
    return false;
}

bool option_is_foreign(const char *name)
{
    static const char *const names[] = {"region_name", "cell_depth", "lines_to_next_cell", "name",
        "slideshow", "jupyter", "collapsed", "scrolled", "editable", "deletable", "hidden",
        "format", "vscode", "execution", "ExecuteTime", "trusted", "autoscroll", "nbgrader",
        "papermill", "pycharm", "colab", "active", "heading_collapsed", "run_control", "title"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq(name, names[i]))
            return true;
    return str_starts(name, "jp-") || strchr(name, '.');
}

// The option of ours that was probably meant; NULL: none.
static const char *option_meant(const char *name)
{
    const char *names[ARRAY_LEN(table) + 1] = {0};
    for (size_t i = 0; i < ARRAY_LEN(table) - 1; i++)
        names[i] = table[i].name;
    return str_nearest(name, names);
}

bool option_is_unknown(const char *name)
{
    if (option_is_ours(name))
        return false;
    const char *near = option_meant(name);
    return !option_is_foreign(name) && !(near && str_distance(name, near) < 2);
}

static void unknown_option(const char *name, err *e)
{
    AUTO_BUF list = {0};
    for (size_t i = 0; i < ARRAY_LEN(table) - 1; i++)
        buf_fmt(&list, "%s%s", i ? ", " : "", table[i].name);
    const char *near = option_meant(name);
    if (near)
        err_set(e, ERR_USAGE, "unknown option %s; did you mean %s?", name, near);
    else
        err_set(e, ERR_USAGE, "unknown option %s; there are %s", name, buf_cstr(&list));
}

static int read_option(struct cell_options *o, const cJSON *item, err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (!str_eq(item->string, table[i].name))
            continue;
        return table[i].set(o, item, e) < 0 ? err_wrap(e, "option %s", item->string) : 0;
    }
    if (option_is_foreign(item->string) || cJSON_IsObject(item))
        return 0; // other tools keep their options there
    if (option_is_unknown(item->string)) {
        o->strange = o->strange ? o->strange : mem_strdup(item->string);
        return 0;
    }
    unknown_option(item->string, e);
    return -1;
}

// An option that cannot be read: would it, or what is meant by it, tell what the text is?
static bool tells_text(const char *name)
{
    static const char *const names[] = {"file", "template", "language", "kernel", "magic_args"};
    const char *all[ARRAY_LEN(table) + 1] = {0};
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        all[i] = table[i].name;
    const char *near = str_nearest(name, all);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq(name, names[i]) || str_eq(near, names[i]))
            return true;
    return false;
}

void options_read(cell *c)
{
    struct cell_options *o = &c->options;
    err e = {0};
    o->unclear = c->problem != NULL;
    for (const cJSON *item = c->kept->metadata->child; item; item = item->next) {
        err wrong = {0};
        if (read_option(o, item, &wrong) == 0)
            continue;
        o->unclear = o->unclear || tells_text(item->string);
        e = e.code ? e : wrong; // the first one is told
    }
    if (!e.code && o->file && o->template_)
        err_set(&e, ERR_USAGE, "a cell has either file= or template=, not both");
    if (!e.code && c->kind != CELL_CODE &&
        (o->file || o->template_ || o->language || o->kernel || o->effects || o->retries ||
            o->when))
        err_set(&e, ERR_USAGE,
            "file=, template=, language=, kernel=, effects=, retries= and when= are for code "
            "cells");
    if (e.code && !c->problem)
        c->problem = mem_strdup(e.text);
}

void options_settle(cell *c, bool guest)
{
    err e = {0};
    if (guest || !c->options.strange || c->problem)
        return;
    c->options.unclear = c->options.unclear || tells_text(c->options.strange);
    unknown_option(c->options.strange, &e);
    c->problem = mem_strdup(e.text);
}

void options_done(struct cell_options *o)
{
    free(o->file);
    free(o->template_);
    free(o->language);
    free(o->kernel);
    free(o->capture);
    free(o->when);
    free(o->strange);
    strv_free(o->tags);
    strv_free(o->inputs);
    strv_free(o->outputs);
    strv_free(o->effects);
    *o = (struct cell_options){0};
}
