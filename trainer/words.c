// SPDX-License-Identifier: MIT
// A tool of the build: words lua OUT writes what `help` and completion tell of all that is
// declared, as a part of the kernel's library (core.declared);
// words table writes to standard output a line for each with its group, names, formula and source,
// for doc/models.md (tests/support/formulapage.py).
#include "base/buf.h"
#include "base/mem.h"
#include "trainer/nn/layer/op.h"
#include "trainer/nn/rule/loss.h"
#include "trainer/nn/rule/optimizer.h"

#include <stdio.h>
#include <string.h>

static const declaration *layer_of(size_t i)
{
    return &op_of((layer_kind)i)->is;
}

static const declaration *initializer_of_number(size_t i)
{
    return initializer_declaration((initializer_kind)(i + 1));
}

static const declaration *loss_of(size_t i)
{
    return loss_declaration((loss_kind)i);
}

static const declaration *optimizer_of(size_t i)
{
    return optimizer_declaration((optimizer_kind)i);
}

static const declaration *schedule_of(size_t i)
{
    return schedule_declaration((schedule_kind)(i + 1));
}

static void add_option(buf *out, const char *name, const char *end)
{
    buf_fmt(out, "%s%s%s=", out->len ? ", " : "", name, end);
}

// The options of a layer's weights.
static void add_weights(size_t i, buf *out)
{
    const op *what = op_of((layer_kind)i);
    for (size_t k = 0; k < LAYER_WEIGHTS && what->weight[k].option; k++) {
        add_option(out, what->weight[k].option, "_initializer");
        if (!what->weight[k].statistics)
            add_option(out, what->weight[k].option, "_regularizer");
    }
}

static const struct group {
    const char *title;
    size_t n;
    const declaration *(*of)(size_t i);
    void (*add_more)(size_t i, buf *options); // NULL: there are no more
    const char *common;                       // options that all have
    const char *returns;
} groups[] = {
    {"Layers", LAYER_KIND_COUNT, layer_of, add_weights,
        "input_shape=, dtype=, trainable=true, name=", ""},
    {"Initializers", INITIALIZER_COUNT - 1, initializer_of_number, NULL, "", ""},
    {"Regularizers", REGULARIZERS, regularizer_declaration, NULL, "", ""},
    {"Losses", LOSS_COUNT, loss_of, NULL,
        "reduction=\"sum_over_batch_size\", dtype=\"float32\", name=", " -> loss"},
    {"Optimizers", OPTIMIZER_COUNT, optimizer_of, NULL, "name=", " -> optimizer"},
    {"Schedules", SCHEDULE_COUNT - 1, schedule_of, NULL, "name=", " -> schedule"},
};

// Lines of text, each indented.
static void add_lines(buf *out, const char *text, const char *indent)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        buf_fmt(out, "%s%.*s\n", indent, (int)n, text);
        text += n + (text[n] != 0);
    }
}

static void add_signature(const struct group *g, size_t i, buf *out)
{
    AUTO_BUF options = {0};
    const declaration *d = g->of(i);
    if (!d->about)
        return;
    declaration_signature(d, &options);
    if (g->add_more)
        g->add_more(i, &options);
    buf_fmt(&options, "%s%s", options.len && *g->common ? ", " : "", g->common);
    buf_fmt(out, "    %s{%s}%s -- %s\n", d->name, buf_cstr(&options), g->returns, d->about);
    for (const attribute *a = attribute_next(d, NULL); a; a = attribute_next(d, a))
        if (a->meaning && !a->no_option && !(a->required && !d->rest))
            buf_fmt(out, "      %s: %s\n", a->name, a->meaning);
    buf_fmt(out, "      formula: %s\n      source: %s\n", d->formula, d->source);
    if (d->example) {
        buf_str(out, "      example:\n");
        add_lines(out, d->example, "        ");
    }
}

// Losses are told by the names that compile takes.
static void add_row(const struct group *g, size_t i, buf *out)
{
    const declaration *d = g->of(i);
    const char *name = d->name, *other = d->other;
    if (g->of == loss_of) {
        name = loss_name((loss_kind)i);
        other = loss_alias((loss_kind)i);
    }
    bool both = other && *other && g->of != regularizer_declaration;
    buf_fmt(out, "%s\t%s%s%s\t%s\t%s\n", g->title, name, both ? ", " : "", both ? other : "",
        d->formula, d->source);
}

static void add_all(buf *out, void (*add)(const struct group *g, size_t i, buf *out))
{
    for (size_t k = 0; k < ARRAY_LEN(groups); k++)
        for (size_t i = 0; i < groups[k].n; i++)
            add(&groups[k], i, out);
}

static int write_library(const char *path)
{
    AUTO_BUF out = {0};
    buf_str(&out, "-- Made by the build of what trainer/ declares (trainer/words.c).\n"
                  "local core = ...\n\ncore.declared = { nn = [==[\n");
    add_all(&out, add_signature);
    buf_str(&out, "]==] }\n");
    FILE *file = fopen(path, "w");
    bool written = file && fwrite(out.data, 1, out.len, file) == out.len;
    if (file && fclose(file) != 0)
        written = false;
    if (!written)
        perror(path);
    return !written;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "lua") == 0)
        return write_library(argv[2]);
    if (argc != 2 || strcmp(argv[1], "table") != 0) {
        fputs("usage: words lua OUT | words table\n", stderr);
        return 2;
    }
    AUTO_BUF out = {0};
    add_all(&out, add_row);
    fputs(buf_cstr(&out), stdout);
    return 0;
}
