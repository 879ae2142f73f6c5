// SPDX-License-Identifier: MIT
#include "script/notebook/plan.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/lua_lines.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <string.h>

void plan_done(struct plan *p)
{
    free(p->text);
    free(p->path);
    free(p->path_lua);
    free(p->capture);
    free(p->language);
    free(p->kernel);
    strv_free(p->inputs);
    strv_free(p->outputs);
    *p = (struct plan){0};
}

static void set_path(struct plan *p, const char *path, size_t n)
{
    p->path = mem_strndup(path, n);
    AUTO_BUF lua = {0};
    if (interpolate(path, n, &lua))
        p->path_lua = buf_take(&lua);
}

static void set_text(struct plan *p, const char *text)
{
    size_t n = strlen(text);
    free(p->text);
    p->text = n && text[n - 1] != '\n' ? str_fmt("%s\n", text) : mem_strdup(text);
}

static size_t word_length(const char *s)
{
    return strcspn(s, " \t");
}

static const char *after_space(const char *s)
{
    return s + strspn(s, " \t");
}

// What Jupyter's users write instead, where there is nothing like it.
static const char *magic_instead(const char *name)
{
    static const struct {
        const char *magic, *words;
    } known[] = {
        {"%cd", "cells run in the folder of the notebook (firesteel run --cwd DIR): write !cd DIR "
                "&& command, or the "
                "folder into each path"},
        {"%pwd", "write !pwd"},
        {"%ls", "write !ls"},
        {"%cat", "write !cat FILE"},
        {"%mkdir", "write !mkdir -p FOLDER"},
        {"%rm", "write !rm FILE"},
        {"%cp", "write !cp FROM TO"},
        {"%mv", "write !mv FROM TO"},
        {"%conda", "write !conda …"},
        {"%timeit", "write %time before the statement"},
        {"%%timeit", "write %%time"},
        {"%matplotlib", "it is Python's; display.plot draws here"},
        {"%load_ext", "it is Python's: its cells run with language=\"python\""},
        {"%autoreload", "it is Python's: its cells run with language=\"python\""},
        {"%run", "write dofile \"FILE.lua\""},
        {"%%html", "write display.html \"…\""},
        {"%%markdown", "write a text cell"},
        {"%%latex", "write a text cell"},
        {"%%javascript", "nothing runs it here"},
        {"%%R", "write language=\"r\""},
        {"%%julia", "write language=\"julia\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_eq(name, known[i].magic))
            return known[i].words;
    return NULL;
}

static int unknown_magic(const char *magic, err *e)
{
    static const char *const known[] = {"%%writefile", "%%bash", "%%sh", "%%capture", "%%lua",
        "%%python", "%%time", "%env", "%time", "%pip", NULL};
    AUTO_FREE char *name = mem_strndup(magic, strcspn(magic, " \t\n"));
    const char *instead = magic_instead(name);
    if (instead)
        return err_set(e, ERR_USAGE, "there is no %s: %s", name, instead);
    const char *best = str_nearest(name, known);
    if (best)
        return err_set(e, ERR_USAGE, "unknown magic %s; did you mean %s?", name, best);
    return err_set(e, ERR_USAGE,
        "unknown magic %s; there are %%%%writefile, %%%%bash, %%%%python, %%%%capture, %%%%time, "
        "%%env, "
        "%%time, %%pip and !command",
        name);
}

// Lua in which magic lines became Lua, on the same lines.

struct lua_source {
    buf out;
    lua_lines state;
    int line; // line of the cell, 1-based
    err *e;
};

static void call_env(struct lua_source *s, const char *arguments)
{
    size_t n = strcspn(arguments, "=");
    if (arguments[n] != '=' || word_length(arguments) < n)
        n = word_length(arguments);
    buf_str(&s->out, "firesteel.magic.env(");
    if (n)
        lua_quote(arguments, n, &s->out);
    const char *value = after_space(arguments + n);
    bool given = arguments[n] == '=' || *value;
    if (arguments[n] == '=')
        value = after_space(arguments + n + 1);
    if (given) {
        buf_str(&s->out, ", ");
        interpolate(value, strlen(value), &s->out);
    }
    buf_str(&s->out, ")");
}

static void call_shell(struct lua_source *s, const char *function, const char *command)
{
    buf_fmt(&s->out, "firesteel.magic.%s(", function);
    interpolate(command, strlen(command), &s->out);
    buf_char(&s->out, ')');
}

// Prints how long it took when its block ends, by an error, too.
#define TIMED "local timed <close> = firesteel.magic.time();"

static int line_magic(struct lua_source *s, const char *magic)
{
    size_t n = word_length(magic);
    if ((n == 4 && str_starts(magic, "%env")) || (n == 8 && str_starts(magic, "%set_env"))) {
        call_env(s, after_space(magic + n));
        return 0;
    }
    if (n == 5 && str_starts(magic, "%time") && *after_space(magic + n)) {
        buf_fmt(&s->out, "do " TIMED " %s end", after_space(magic + n));
        return 0;
    }
    if (n == 4 && str_starts(magic, "%pip")) {
        AUTO_FREE char *command = str_fmt("python3 -m pip %s", after_space(magic + n));
        call_shell(s, "system", command);
        return 0;
    }
    return unknown_magic(magic, s->e);
}

// In "x = !cmd" or "local a, b = %env NAME": the place of the '!' or '%', or NULL.
static const char *assigned_magic(const char *line)
{
    const char *p = after_space(line);
    if (str_starts(p, "local "))
        p = after_space(p + 6);
    const char *name = p;
    while (isalnum((unsigned char)*p) || (*p && strchr("_.,[]\"' ", *p)))
        p++;
    if (p == name || *p != '=' || isdigit((unsigned char)*name))
        return NULL;
    p = after_space(p + 1);
    return *p == '!' || (*p == '%' && isalpha((unsigned char)p[1])) ? p : NULL;
}

// "NAME?", "NAME??" or "?NAME", as IPython has it: the length of the name, which begins at *name; 0
// for any other line. No line of Lua ends so.
static size_t asked_name(const char *line, const char **name)
{
    const char *p = after_space(line);
    bool first = *p == '?';
    *name = p = after_space(p + first);
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || (p[n] && strchr("_.:", p[n])))
        n++;
    const char *end = p + n + strspn(p + n, "?");
    bool asked = first || end > p + n;
    return asked && !*after_space(end) && !isdigit((unsigned char)*p) ? n : 0;
}

// Takes one line that does not start inside a string or comment.
static int lua_line(struct lua_source *s, const char *line)
{
    const char *p = after_space(line), *assigned = assigned_magic(line), *name;
    size_t asked = asked_name(line, &name);
    if (asked) {
        buf_fmt(&s->out, "help \"%.*s\"", (int)asked, name);
    } else if (*p == '%' && magic_line(p, strlen(p))) {
        buf_add(&s->out, line, (size_t)(p - line));
        if (line_magic(s, p) < 0)
            return -1;
    } else if (p[0] == '!' && p[1] == '!') {
        return err_set(s->e, ERR_USAGE, "!! is not known; write x = !command");
    } else if (*p == '!') {
        buf_add(&s->out, line, (size_t)(p - line));
        call_shell(s, "system", after_space(p + 1));
    } else if (assigned) {
        buf_add(&s->out, line, (size_t)(assigned - line));
        if (*assigned == '!')
            call_shell(s, "getoutput", after_space(assigned + 1));
        else if (line_magic(s, assigned) < 0)
            return -1;
    } else {
        buf_str(&s->out, line);
        lua_lines_feed(&s->state, line, strlen(line));
        return 0;
    }
    buf_char(&s->out, ';'); // because the next line may start with a parenthesis
    return 0;
}

// Takes a line. If it ends with a backslash and `joins`, the next line is joined to it; *extra
// counts them.
static char *take_line(const char **rest, bool joins, int *extra)
{
    buf line = {0};
    *extra = 0;
    for (;;) {
        size_t n = strcspn(*rest, "\n");
        buf_add(&line, *rest, n);
        *rest += n;
        if (!**rest)
            break;
        ++*rest;
        if (!joins || !line.len || line.data[line.len - 1] != '\\')
            break;
        line.len--;
        *extra += **rest != '\0';
    }
    return line.data ? buf_take(&line) : mem_strdup("");
}

static bool starts_command(const char *line)
{
    const char *p = after_space(line);
    if (*p == '!')
        return true;
    AUTO_FREE char *copy = mem_strndup(line, strcspn(line, "\n"));
    const char *assigned = assigned_magic(copy);
    return assigned && *assigned == '!';
}

static int translate(struct plan *p, const char *source, int first_line, err *e)
{
    if (!source[strcspn(source, "!%?")]) { // as most cells: nothing but Lua
        set_text(p, source);
        return 0;
    }
    struct lua_source s = {.line = first_line, .e = e};
    int result = 0;
    while (*source && result == 0) {
        int extra;
        bool inside = s.state.inside;
        AUTO_FREE char *line = take_line(&source, !inside && starts_command(source), &extra);
        if (inside) {
            buf_str(&s.out, line);
            lua_lines_feed(&s.state, line, strlen(line));
        } else {
            result = lua_line(&s, line);
        }
        for (int i = 0; i <= extra; i++)
            buf_char(&s.out, '\n');
        s.line += result == 0 ? 1 + extra : 0;
    }
    if (result == 0)
        set_text(p, buf_cstr(&s.out));
    else
        p->line = s.line;
    buf_done(&s.out);
    return result;
}

// Cell magics: their first line is "%%name arguments".

static int writefile(struct plan *p, const char *arguments, const char *body, err *e)
{
    size_t n = word_length(arguments);
    if ((n == 2 && str_starts(arguments, "-a")) || (n == 8 && str_starts(arguments, "--append"))) {
        p->append = true;
        arguments = after_space(arguments + n);
    }
    AUTO_FREE char *path = str_trim(arguments, strlen(arguments));
    if (!*path)
        return err_set(e, ERR_USAGE, "%%%%writefile needs the name of a file");
    bool quoted = (*path == '"' || *path == '\'') && strlen(path) > 2;
    p->kind = PLAN_FILE;
    set_path(p, path + quoted, strlen(path) - 2 * quoted);
    set_text(p, body);
    return 0;
}

// "%%bash -e": only switches that `set` knows.
static int bash(struct plan *p, const char *arguments, const char *body, err *e)
{
    AUTO_FREE char *switches = str_trim(arguments, strlen(arguments));
    for (const char *s = switches; *s; s++)
        if (!(isalpha((unsigned char)*s) || *s == ' ' || *s == '-') || str_starts(s, "--"))
            return err_set(e, ERR_USAGE, "%%%%bash takes switches of `set` only, not %s", switches);
    p->kind = PLAN_BASH;
    p->language = mem_strdup("bash");
    AUTO_FREE char *text = *switches ? str_fmt("set %s; %s", switches, body) : mem_strdup(body);
    set_text(p, text);
    return 0;
}

static void take_capture(struct plan *p, const char *arguments)
{
    while (*arguments == '-') // options such as --no-stderr
        arguments = after_space(arguments + word_length(arguments));
    if (!p->capture)
        p->capture = mem_strndup(arguments, word_length(arguments));
}

static int run_in_kernel(
    struct plan *p, const char *language, const char *kernel, bool wish, const char *text)
{
    p->kind = PLAN_KERNEL;
    p->language = mem_strdup(language);
    p->kernel = mem_strdup(kernel);
    p->wish = wish;
    set_text(p, text);
    return 0;
}

static int plan_lua(struct plan *p, const char *source, int line, err *e);

// Its code in place of the magic's line, so that lines are counted as they are.
static int time_cell(struct plan *p, const char *body, int line, err *e)
{
    if (plan_lua(p, body, line + 1, e) < 0)
        return -1;
    if (p->kind != PLAN_LUA) {
        p->line = line;
        return err_set(e, ERR_USAGE, "%%%%time is for cells in Lua");
    }
    AUTO_FREE char *text = str_fmt(TIMED "\n%s", p->text);
    set_text(p, text);
    p->skipped--;
    return 0;
}

static int plan_lua(struct plan *p, const char *source, int line, err *e)
{
    const char *start = source;
    while (*start == '\n')
        start++;
    if (!str_starts(start, "%%")) {
        p->kind = PLAN_LUA;
        p->language = mem_strdup("lua");
        return translate(p, source, line, e);
    }
    line += (int)(start - source);
    size_t n = strcspn(start, "\n");
    AUTO_FREE char *magic = mem_strndup(start, n);
    const char *body = start + n + (start[n] == '\n'),
               *arguments = after_space(magic + word_length(magic));
    p->skipped += (int)(start - source) + 1;
    p->line = line;
    magic[word_length(magic)] = '\0';
    if (str_eq(magic, "%%writefile") || str_eq(magic, "%%file"))
        return writefile(p, arguments, body, e);
    if (str_eq(magic, "%%bash") || str_eq(magic, "%%sh"))
        return bash(p, arguments, body, e);
    if (str_eq(magic, "%%python") || str_eq(magic, "%%python3"))
        return run_in_kernel(p, "python", NULL, false, body);
    if (str_eq(magic, "%%time"))
        return time_cell(p, body, line, e);
    if (str_eq(magic, "%%capture"))
        take_capture(p, arguments);
    else if (!str_eq(magic, "%%lua"))
        return unknown_magic(magic, e);
    return plan_lua(p, body, line + 1, e);
}

static int does_nothing(const char *language, err *e)
{
    return err_set(e, ERR_USAGE,
        "a cell in %s does nothing by itself: say file=\"…\" or template=\"…\"", language);
}

// Of a notebook in another language: what its kernel gets is what Jupyter would send, so cells in a
// third one are its magics; "%%lua" is ours.
static int plan_guest(const notebook *nb, const cell *c, struct plan *p, err *e)
{
    const struct cell_options *o = &c->options;
    if (o->kernel)
        return run_in_kernel(
            p, o->language ? o->language : nb->language, o->kernel, false, c->source);
    if (o->language && !jupyter_language(o->language))
        return does_nothing(o->language, e);
    AUTO_FREE char *source = cell_jupyter_source(nb, c);
    if (str_starts(source, "%%lua") && strcspn(source, " \t\n") == 5)
        return plan_lua(p, source, 1, e);
    return run_in_kernel(p, nb->language, nb->kernel, !nb->only, source);
}

static int plan_code(const notebook *nb, const cell *c, struct plan *p, err *e)
{
    const struct cell_options *o = &c->options;
    const char *path = o->file ? o->file : o->template_;
    p->capture = mem_strdup(o->capture);
    if (path) {
        p->kind = o->file ? PLAN_FILE : PLAN_TEMPLATE;
        p->path = mem_strdup(path);
        p->language = mem_strdup(o->language ? o->language : "lua");
        set_text(p, c->source);
        return 0;
    }
    if (nb && nb->undecided && !o->language)
        return err_set(e, ERR_USAGE, "%s", notebook_undecided_words());
    if (nb && nb->language)
        return plan_guest(nb, c, p, e);
    if (!o->language && o->kernel)
        return err_set(
            e, ERR_USAGE, "kernel=\"%s\" needs language=: without one the cell is Lua", o->kernel);
    if (!o->language)
        return plan_lua(p, c->source, 1, e);
    if (o->kernel)
        return run_in_kernel(p, o->language, o->kernel, false, c->source);
    const char *arguments = json_str_or(c->kept->metadata, "magic_args", "");
    switch (language_does(o->language)) {
    case LANGUAGE_BASH:
        return bash(p, arguments, c->source, e);
    case LANGUAGE_KERNEL:
        return run_in_kernel(p, o->language, NULL, false, c->source);
    case LANGUAGE_TEXT:
        break;
    }
    return does_nothing(o->language, e);
}

static int take_files(const cell *c, struct plan *p, err *e)
{
    const struct cell_options *o = &c->options;
    if (p->kind != PLAN_BASH && (o->inputs || o->outputs))
        return err_set(e, ERR_USAGE,
            "inputs= and outputs= are for bash cells; in Lua they are options of a call: "
            "sh(\"…\", {inputs = {\"…\"}, outputs = {\"…\"}})");
    p->inputs = o->inputs ? strv_dup((const char *const *)o->inputs) : NULL;
    p->outputs = o->outputs ? strv_dup((const char *const *)o->outputs) : NULL;
    return 0;
}

int plan_cell(const notebook *nb, const cell *c, struct plan *out, err *e)
{
    *out = (struct plan){0};
    return c->problem ? err_set(e, ERR_USAGE, "%s", c->problem) : plan_text(nb, c, out, e);
}

int plan_text(const notebook *nb, const cell *c, struct plan *out, err *e)
{
    *out = (struct plan){0};
    if (c->kind == CELL_CODE && (plan_code(nb, c, out, e) < 0 || take_files(c, out, e) < 0)) {
        int line = out->line;
        plan_done(out);
        out->line = line;
        return -1;
    }
    out->line = 0;
    if (!out->text)
        out->text = mem_strdup("");
    return 0;
}
