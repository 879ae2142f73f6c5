// SPDX-License-Identifier: MIT
// firesteel convert: converts a notebook to another format, and reports what that format cannot
// hold.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/bar.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/say.h"
#include "script/notebook/notebook.h"
#include "script/report/document.h"

#include <stdio.h>
#include <string.h>

#define CONVERT_FORMATS(X) X(LUA, "lua") X(IPYNB, "ipynb") X(PY, "py") X(MD, "md") X(HTML, "html")
enum form {
#define X(name, text) FORM_##name,
    CONVERT_FORMATS(X)
#undef X
        FORM_SCRIPT, // a file of another language
    FORM_NONE
};
static const char *const form_names[] = {
#define X(name, text) text,
    CONVERT_FORMATS(X)
#undef X
};

// The format of this name, or of a file with this extension.
static enum form form_of(const char *name)
{
    const char *dot = name ? strrchr(name, '.') : NULL, *end = dot ? dot + 1 : name;
    AUTO_FREE char *ending = str_fmt(".%s", end ? end : "");
    enum form f = 0;
    while (f < FORM_SCRIPT && !str_eq(end, form_names[f]))
        f++;
    return f == FORM_SCRIPT && !notebook_is_script(ending) ? FORM_NONE : f;
}

static int print_as(
    const notebook *nb, const char *path, enum form form, const char *as, buf *out, err *e)
{
    if (form == FORM_MD || form == FORM_HTML)
        return document_print(nb, path, form == FORM_MD ? EXPORT_MD : EXPORT_HTML, out, e);
    return notebook_print_as(nb, as, NULL, NULL, out, e);
}

struct conversion {
    const char *from, *to;
    enum form was, form;
    const char *as; // ".ipynb": how names of the new format end
    const notebook *nb;
    const buf *source, *text; // the input file, and the result
    bool told;
    own_work *work; // shown while nothing else is printed
};

__attribute__((format(printf, 2, 3))) static void lost(struct conversion *c, const char *fmt, ...)
{
    AUTO_BUF what = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&what, fmt, args);
    va_end(args);
    own_work_clear(c->work);
    say(stderr, "firesteel: %s: %s\n", c->to, buf_cstr(&what));
    c->told = true;
}

// Parts of an .ipynb that a text format cannot hold.
static void tell_outputs(struct conversion *c)
{
    AUTO_JSON *j = notebook_to_ipynb(c->nb, NULL, NULL);
    const cJSON *one;
    size_t outputs = 0, attached = 0;
    cJSON_ArrayForEach(one, json_get(j, "cells"))
    {
        outputs += cJSON_GetArraySize(json_get(one, "outputs")) > 0;
        attached += cJSON_GetArraySize(json_get(one, "attachments")) > 0;
    }
    if (outputs && c->form != FORM_IPYNB && c->form != FORM_MD && c->form != FORM_HTML)
        lost(c, "it has not the outputs of %zu cell%s", outputs, outputs == 1 ? "" : "s");
    if (attached)
        lost(c, "it has not the pictures attached to %zu cell%s", attached,
            attached == 1 ? "" : "s");
}

// The first cell in which two notebooks differ; -1: none.
static long differs(const notebook *a, const notebook *b)
{
    size_t n = notebook_count(a) < notebook_count(b) ? notebook_count(a) : notebook_count(b);
    for (size_t i = 0; i < n; i++) {
        const cell *x = notebook_cell(a, i), *y = notebook_cell(b, i);
        if (x->kind != y->kind || !str_eq(x->source, y->source) || !str_eq(x->title, y->title) ||
            !str_eq(x->options.language, y->options.language))
            return (long)i;
    }
    return notebook_count(a) == notebook_count(b) ? -1 : (long)n;
}

// Lines that look like markers have a comment mark more in a text, and in an .ipynb that is made of
// it (doc/notebook-format.md).
static void tell_marks(struct conversion *c, const notebook *back)
{
    AUTO_JSON *was = notebook_to_ipynb(c->nb, NULL, NULL),
              *is = notebook_to_ipynb(back, NULL, NULL);
    const cJSON *x = json_path(was, "cells[0]"), *y = json_path(is, "cells[0]");
    size_t n = 0;
    for (; x && y; x = x->next, y = y->next)
        n += !json_equal(json_get(x, "source"), json_get(y, "source"));
    if (n)
        lost(c,
            "%zu cell%s lines that look like markers: an .ipynb that is made of it has one comment "
            "mark more in front of them",
            n, n == 1 ? " has" : "s have");
}

// Converts the result back as a check: it must have the same cells, and if possible the same bytes.
static void tell_round_trip(struct conversion *c)
{
    err e = {0};
    AUTO_BUF again = {0};
    notebook *back = notebook_parse_as(c->as, buf_cstr(c->text), c->text->len, &e);
    long cell_at = back ? differs(c->nb, back) : 0;
    if (!back)
        lost(c, "it does not read back: %s", e.text);
    else if (cell_at >= 0)
        lost(c, "it reads back otherwise from cell %ld on", cell_at + 1);
    else if (c->was != FORM_IPYNB && print_as(back, c->from, c->was, c->from, &again, &e) == 0 &&
             (again.len != c->source->len || memcmp(again.data, c->source->data, again.len) != 0))
        lost(c,
            "all cells are there; converted back, the file's bytes are others (spacing, order or "
            "spelling of options)");
    if (back && cell_at < 0 && c->was == FORM_IPYNB && c->form != FORM_IPYNB)
        tell_marks(c, back);
    notebook_free(back);
}

static int write_out(struct conversion *c, bool force, err *e)
{
    if (str_eq(c->to, "-")) {
        own_work_clear(c->work);
        say_file(buf_cstr(c->text), c->text->len);
        return 0;
    }
    if (!force && path_exists(c->to))
        return err_set(e, ERR_EXISTS, "%s is there already; --force replaces it", c->to);
    return path_update(c->to, buf_cstr(c->text), c->text->len, 0644, e);
}

static char *beside(const char *path, const char *form)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t n = dot && (!slash || dot > slash + 1) ? (size_t)(dot - path) : strlen(path);
    return str_fmt("%.*s.%s", (int)n, path, form);
}

struct adoption {
    struct conversion *conversion;
    const notebook *nb;
    size_t cells, stay;
};

static void on_adopted(void *arg, size_t i, const char *why, bool cluster)
{
    struct adoption *a = arg;
    AUTO_BUF name = {0};
    notebook_cell_name(a->nb, i, &name);
    a->cells++;
    a->stay += why != NULL;
    if (why)
        lost(a->conversion, "%s stays in Python: %s", buf_cstr(&name), why);
    if (cluster)
        lost(a->conversion,
            "%s has effects=\"cluster\": its programs use one. A resumed run stops there; with "
            "calls of k8s it would go on",
            buf_cstr(&name));
}

// A notebook in Lua of one in Python; NULL: it is in another language.
static notebook *adopt(struct conversion *c, err *e)
{
    struct adoption a = {c, c->nb, 0, 0};
    if (!str_eq(notebook_language(c->nb), "python")) {
        err_set(e, ERR_USAGE, "--adopt: %s is no notebook in Python", c->from);
        return NULL;
    }
    notebook *lua = notebook_to_lua(c->nb, on_adopted, &a);
    lost(c, "%zu of %zu cells with code are Lua", a.cells - a.stay, a.cells);
    return lua;
}

struct wanted {
    const char *to;     // NULL: beside each notebook
    const char *format; // "ipynb", as names of such files end
    bool force, adopt;
    own_work *work;
};

static int convert(const char *from, const struct wanted *w, err *e)
{
    const char *to = w->to, *format = w->format;

    AUTO_BUF source = {0}, text = {0};
    AUTO_FREE char *target = to ? mem_strdup(to) : beside(from, format);
    AUTO_FREE char *as = str_fmt(".%s", format);
    enum form was = form_of(from), form = form_of(format);
    if (was == FORM_MD || was == FORM_HTML)
        return err_set(e, ERR_USAGE, "%s: there is no way back from Markdown and HTML", from);
    work_phase(own_work_watch(w->work)->work, "reading", WORK_ITEMS, 0);
    if (path_read(from, &source, 256 << 20, e) < 0)
        return -1;
    notebook *nb = notebook_parse_as(from, buf_cstr(&source), source.len, e);
    if (!nb)
        return -1;
    if (notebook_is_undecided(nb) && form != FORM_IPYNB) {
        notebook_free(nb);
        return err_set(e, ERR_USAGE, "%s: %s", from, notebook_undecided_words());
    }
    struct conversion c = {from, target, was, form, as, nb, &source, &text, false, w->work};
    work_phase(own_work_watch(w->work)->work, "writing", WORK_ITEMS, 0);
    notebook *lua = w->adopt ? adopt(&c, e) : NULL;
    int result = w->adopt && !lua ? -1 : 0;
    if (lua) {
        notebook_free(nb);
        c.nb = nb = lua;
    }
    if (result == 0)
        result = print_as(nb, from, form, as, &text, e);
    if (result == 0)
        result = write_out(&c, w->force, e);
    if (result == 0 && was == FORM_IPYNB && !w->adopt)
        tell_outputs(&c);
    if (result == 0 && form == FORM_IPYNB && notebook_is_old(nb))
        lost(&c, "it is nbformat 4; %s has an older one", from);
    if (result == 0 && form != FORM_MD && form != FORM_HTML && !w->adopt)
        tell_round_trip(&c);
    notebook_free(nb);
    return result;
}

static int convert_all(struct cli *cli, char *const *files, const struct wanted *w)
{
    int code = 0;
    for (; *files; files++) {
        err e = {0};
        AUTO_FREE char *what = str_fmt("convert %s", *files);
        own_work *work = own_work_begin(cli, what, WORK_ITEMS, NULL);
        struct wanted one = *w;
        one.work = work;
        int done = convert(*files, &one, &e);
        own_work_end(work);
        if (done < 0)
            code = cli_error(cli, &e);
    }
    return code;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *to = NULL, *file = NULL;
    bool force = false, adopts = false;
    const struct option options[] = {
        {"to", 0, "lua|ipynb|py|md|html", "the format; else what FILE's name says", .text = &to},
        {"output", 'o', "FILE", "write FILE (- is standard output) instead of one beside it",
            .text = &file},
        {"adopt", 0, NULL,
            "of a notebook in Python one in Lua, as far as rules tell how; the rest stays in "
            "Python",
            .given = &adopts},
        {"force", 0, NULL, "replace a file that is there", .given = &force},
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &convert_verb, options, argc, argv, &rest, &code) == 0) {
        const char *dot = !to && file ? strrchr(file, '.') : NULL;
        bool lua = adopts && (!file || str_eq(file, "-"));
        const char *format = to ? to : dot ? dot + 1 : lua ? "lua" : file;
        if (!rest)
            code = cli_usage(cli, &convert_verb, "which notebook?");
        else if (!format)
            code =
                cli_usage(cli, &convert_verb, "to which format? --to lua, ipynb, py, md or html");
        else if (form_of(format) == FORM_NONE)
            code = cli_usage(cli, &convert_verb,
                "%s is none of lua, ipynb, py, md, html, nor R, jl, … as jupytext names files",
                format);
        else if (adopts && form_of(format) != FORM_LUA && form_of(format) != FORM_IPYNB)
            code = cli_usage(cli, &convert_verb, "--adopt makes a .lua or an .ipynb");
        else if (file && strv_len(rest) > 1)
            code = cli_usage(cli, &convert_verb, "-o is for one notebook");
        else
            code = convert_all(cli, rest, &(struct wanted){file, format, force, adopts});
    }
    strv_free(rest);
    return code;
}

const struct verb convert_verb = {
    .name = "convert",
    .summary = "write a notebook in another format: lua, ipynb, py, md, html",
    .usage =
        "NOTEBOOK… --to lua|ipynb|py|md|html [-o FILE]\n\n"
        "Lua and Python in Jupytext's percent format (and R, jl, js, …), and .ipynb, both ways,\n"
        "byte by byte where the formats allow; Markdown and HTML one way, with the outputs of an "
        ".ipynb. What the\n"
        "new file does not have is said on standard error. Without -o, FILE.FORMAT is written\n"
        "beside each notebook. --adopt makes a notebook in Lua of one in Python, and says which "
        "cells stay\nin Python, and why.",
    .run = run,
};
