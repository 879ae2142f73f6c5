// SPDX-License-Identifier: MIT
// A tool of the build: words lua OUT writes what `help` and completion tell of all that is
// declared, as a part of the kernel's library (core.declared, core.examples, core.formulas);
// words table writes to standard output a line for each with its group, name, formula and source,
// for doc/models.md (tests/support/formulapage.py).
#include "base/buf.h"
#include "trainer/nn/op/op.h"

#include <stdio.h>
#include <string.h>

// What `help` calls it: the node that a graph begins with is made by nn.Input.
static const char *shown_name(const declaration *d)
{
    return strcmp(d->name, "InputLayer") == 0 ? "Input" : d->name;
}

// The text without the marks of code.
static void add_plain(buf *out, const char *text)
{
    for (; *text; text++)
        if (*text != '`')
            buf_char(out, *text);
}

// Lines of text, each indented.
static void add_lines(buf *out, const char *text, const char *indent)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        buf_fmt(out, "%s%.*s\n", indent, (int)n, text);
        text += n + (text[n] != 0);
    }
}

static void add_layer(const op *what, buf *out)
{
    AUTO_BUF options = {0};
    const declaration *d = &what->is;
    declaration_signature(d, &options);
    for (size_t i = 0; i < LAYER_WEIGHTS && what->weight[i].option; i++) {
        const char *option = what->weight[i].option;
        buf_fmt(&options, "%s%s_initializer=", options.len ? ", " : "", option);
        if (!what->weight[i].statistics)
            buf_fmt(&options, ", %s_regularizer=", option);
    }
    buf_fmt(out, "    %s{%s%sinput_shape=, dtype=, trainable=true, name=} -- %s\n", d->name,
        buf_cstr(&options), options.len ? ", " : "", d->about);
    for (const attribute *a = attribute_next(d, NULL); a; a = attribute_next(d, a))
        if (a->meaning && !a->no_option && !(a->required && !d->rest))
            buf_fmt(out, "      %s: %s\n", a->name, a->meaning);
}

static void add_all(buf *out, void (*add)(const op *what, buf *out))
{
    for (layer_kind kind = 0; kind < LAYER_KIND_COUNT; kind++)
        add(op_of(kind), out);
}

static void add_signature(const op *what, buf *out)
{
    if (what->is.about)
        add_layer(what, out);
}

static void add_example(const op *what, buf *out)
{
    if (!what->is.example)
        return;
    buf_fmt(out, "nn.%s\n", what->is.name);
    add_lines(out, what->is.example, "  ");
}

static void add_formula(const op *what, buf *out)
{
    buf_fmt(out, "nn.%s\n  ", shown_name(&what->is));
    add_plain(out, what->is.formula);
    buf_fmt(out, "\n  %s\n", what->is.source);
}

static void add_row(const op *what, buf *out)
{
    buf_fmt(out, "Layers\t%s\t%s\t%s\n", what->is.name, what->is.formula, what->is.source);
}

static int write_library(const char *path)
{
    AUTO_BUF out = {0};
    buf_str(&out, "-- Made by the build of what trainer/ declares (trainer/declared/words.c).\n"
                  "local core = ...\n\ncore.declared = { nn = [==[\n");
    add_all(&out, add_signature);
    buf_str(&out, "]==] }\n\ncore.examples [==[\n");
    add_all(&out, add_example);
    buf_str(&out, "]==]\n\ncore.formulas [==[\n");
    add_all(&out, add_formula);
    buf_str(&out, "]==]\n");
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
