// SPDX-License-Identifier: MIT
// A notebook in Lua of one in Python, by rules that need no understanding: comments, literals,
// shell commands, files and bash scripts. A cell with anything else stays in Python, and so does
// one that shares a name with such a cell in a way that Lua's copy would not follow.
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/literal.h"
#include "script/notebook/notebook.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <string.h>

// A code cell on its way.
struct moved {
    const cell *cell;
    buf source;     // in Lua
    cJSON *set;     // options that its marker gets
    char **sets;    // names of variables: those that it sets,
    char **reads;   // reads,
    char **shell;   // and those that are the shell's, unless Python has them
    char **exports; // variables of the environment that it sets
    char *why;      // it stays in Python; NULL: it is Lua
    bool imports;   // it has only imports and comments
    bool acts;      // it has other lines
    bool cluster;   // its commands use a cluster
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t name_length(const char *p)
{
    size_t n = 0;
    while (is_word(p[n]))
        n++;
    return n && !isdigit((unsigned char)*p) ? n : 0;
}

static size_t line_length(const char *p)
{
    return strcspn(p, "\n");
}

static bool has(char *const *names, const char *name)
{
    for (; names && *names; names++)
        if (str_eq(*names, name))
            return true;
    return false;
}

static void stay(struct moved *m, char *why)
{
    if (m->why)
        free(why);
    else
        m->why = why;
}

// Names in Python's text.

static const char *find_name(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = text; (p = strstr(p, name)); p += n)
        if ((p == text || (!is_word(p[-1]) && p[-1] != '.')) && !is_word(p[n]))
            return p;
    return NULL;
}

static bool follows(const char *line, const char *at, const char *keyword)
{
    size_t n = strlen(keyword);
    while (at > line && at[-1] == ' ')
        at--;
    return (size_t)(at - line) >= n && memcmp(at - n, keyword, n) == 0 &&
           ((size_t)(at - line) == n || !is_word(at[-(ptrdiff_t)n - 1]));
}

// The "=" of an assignment in a line; NULL: it has none.
static const char *assignment(const char *line)
{
    int depth = 0;
    for (const char *p = line; *p; p++) {
        depth += strchr("([{", *p) != NULL;
        depth -= strchr(")]}", *p) != NULL;
        if (*p == '=' && p[1] == '=')
            p++;
        else if (*p == '=' && depth <= 0 && !(p > line && strchr("!<>", p[-1])))
            return p;
    }
    return NULL;
}

// May this Python set the name? Rather too often than too rarely.
static bool assigns(const char *text, const char *name)
{
    static const char *const keywords[] = {
        "for", "as", "import", "def", "class", "global", "nonlocal", ",", "%%capture"};
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = line_length(text);
        AUTO_FREE char *line = mem_strndup(text, n);
        bool command = line[strspn(line, " ")] == '!' || line[strspn(line, " ")] == '%';
        const char *at = find_name(line, name), *is = command ? NULL : assignment(line);
        if (at && is && at < is)
            return true;
        for (size_t i = 0; at && i < ARRAY_LEN(keywords); i++)
            if (follows(line, at, keywords[i]))
                return true;
    }
    return false;
}

// Commands.

static bool uses_cluster(const char *command)
{
    static const char *const programs[] = {
        "kubectl", "helm", "spark-submit", "argo", "kustomize", "kubernetes"};
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        if (find_name(command, programs[i]))
            return true;
    return false;
}

// Notes the names in "{name}" and "$name". false: there is a larger expression.
static bool note_names(struct moved *m, const char *command)
{
    for (const char *p = command; *p; p++) {
        size_t n = *p == '{' || *p == '$' ? name_length(p + 1) : 0;
        AUTO_FREE char *name = mem_strndup(p + 1, n);
        if ((*p == '{' && p[1] == '{') || (*p == '$' && p[1] == '$') || (*p == '}' && p[1] == '}'))
            p++;
        else if (*p == '{' && (!n || p[n + 1] != '}'))
            return false;
        else if (*p == '{')
            m->reads = strv_add(m->reads, name);
        else if (*p == '$' && n)
            m->shell = strv_add(m->shell, name);
    }
    return true;
}

// The variables of a script for a shell.
static void note_variables(struct moved *m, const char *script)
{
    for (const char *p = script; (p = strchr(p, '$')); p++) {
        const char *at = p + 1 + (p[1] == '{');
        size_t n = name_length(at);
        AUTO_FREE char *name = mem_strndup(at, n);
        if (n)
            m->shell = strv_add(m->shell, name);
    }
}

// "kubectl apply -f job.yaml" as a call; new, NULL: it is another command.
static char *kubectl_call(const char *command)
{
    static const char *const verbs[][2] = {
        {"kubectl apply -f ", "apply"}, {"kubectl create -f ", "create"}};
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        const char *file = command + strlen(verbs[i][0]);
        if (str_starts(command, verbs[i][0]) && *file && *file != '-' &&
            !file[strcspn(file, " \t$*?~{}'\"|;&<>\\")])
            return str_fmt("k8s.%s \"%s\"", verbs[i][1], file);
    }
    return NULL;
}

static bool add_command(struct moved *m, const char *line)
{
    AUTO_FREE char *trimmed = *line == '!' ? str_trim(line + 1, strlen(line + 1)) : NULL;
    AUTO_FREE char *call = trimmed ? kubectl_call(trimmed) : NULL;
    if (!call && !note_names(m, line))
        return false;
    if (str_starts(line, "%env ")) {
        AUTO_FREE char *name = mem_strndup(line + 5, name_length(line + 5));
        m->exports = strv_add(m->exports, name);
    }
    m->cluster = m->cluster || (!call && uses_cluster(line));
    buf_str(&m->source, call ? call : line);
    return true;
}

// Lines. Each returns where the next one begins; NULL: it is no such line.

// "a, b" of "a, b = 1, 2"; Python may tell a type: "n: int = 3". Returns how many names there are;
// 0: there is something else.
static size_t add_names(struct moved *m, const char *p, const char *end)
{
    static const char *const keywords[] = {"and", "break", "do", "else", "elseif", "end", "false",
        "for", "function", "goto", "if", "in", "local", "nil", "not", "or", "repeat", "return",
        "then", "true", "until", "while", NULL};
    size_t count = 0;
    for (;; p++) {
        p += strspn(p, " ");
        size_t n = name_length(p);
        AUTO_FREE char *name = mem_strndup(p, n);
        if (!n || has((char *const *)keywords, name))
            return 0;
        m->sets = strv_add(m->sets, name);
        buf_fmt(&m->source, "%s%s", count++ ? ", " : "", name);
        p += n;
        p += strspn(p, " ");
        if (p == end || (*p == ':' && count == 1))
            break;
        if (*p != ',')
            return 0;
    }
    buf_str(&m->source, " = ");
    return count;
}

static const char *add_assignment(struct moved *m, const char *p)
{
    size_t line = line_length(p);
    AUTO_FREE char *text = mem_strndup(p, line);
    const char *is = assignment(text), *rest = is ? p + (is - text) + 1 : NULL;
    size_t names = is ? add_names(m, p, rest - 1) : 0;
    if (!names)
        return NULL;
    rest += strspn(rest, " ");
    if (*rest == '!' && names == 1) {
        AUTO_FREE char *command = mem_strndup(rest, line - (size_t)(rest - p));
        return add_command(m, command) ? p + line : NULL;
    }
    for (size_t i = 0; i < names; i++) {
        AUTO_JSON *value = NULL;
        enum param_type type;
        if (i && *rest != ',')
            return NULL;
        rest = pyliteral_read(rest + (i > 0) + strspn(rest + (i > 0), " "), &type, &value);
        if (!rest || cJSON_IsNull(value) || literal_has_null(value))
            return NULL;
        buf_str(&m->source, i ? ", " : "");
        literal_print(value, &m->source);
        rest += strspn(rest, " \t");
    }
    size_t comment = line_length(rest);
    if (comment && *rest != '#')
        return NULL;
    if (comment)
        buf_fmt(&m->source, "  --%.*s", (int)comment - 1, rest + 1);
    return rest + comment;
}

// print(name), print("text"), or a name as the last line: the same in Lua.
static const char *add_shown(struct moved *m, const char *p)
{
    size_t line = line_length(p);
    bool prints = str_starts(p, "print(");
    const char *what = prints ? p + 6 : p, *end;
    size_t n = name_length(what);
    AUTO_FREE char *name = mem_strndup(what, n);
    AUTO_JSON *value = NULL;
    enum param_type type;
    if (n && !str_eq(name, "True") && !str_eq(name, "False") && !str_eq(name, "None")) {
        end = what + n;
        m->reads = strv_add(m->reads, name);
        buf_fmt(&m->source, prints ? "print(%s)" : "%s", name);
    } else if (prints && (end = pyliteral_read(what, &type, &value)) && cJSON_IsString(value)) {
        buf_str(&m->source, "print(");
        literal_print(value, &m->source);
        buf_char(&m->source, ')');
    } else {
        return NULL;
    }
    if (prints && *end++ != ')')
        return NULL;
    bool last = !end[strspn(end, " \t\n")];
    return end == p + line && (prints || last) ? end : NULL;
}

static const char *add_import(struct moved *m, const char *p)
{
    size_t n = line_length(p);
    m->imports = true;
    buf_fmt(&m->source, "-- %.*s", (int)n, p);
    return p + n;
}

static const char *add_line(struct moved *m, const char *p)
{
    size_t n = line_length(p), blank = strspn(p, " \t");
    AUTO_FREE char *line = mem_strndup(p, n);
    if (blank == n)
        return p + n;
    if (*p == '#') {
        buf_fmt(&m->source, "--%s", line + 1);
        return p + n;
    }
    if (str_starts(p, "import ") || str_starts(p, "from "))
        return m->acts ? NULL : add_import(m, p);
    m->acts = true;
    if (m->imports)
        return NULL;
    if (*p == '!' || str_starts(p, "%env ") || str_starts(p, "%pip "))
        return add_command(m, line) ? p + n : NULL;
    const char *end = add_assignment(m, p);
    return end ? end : add_shown(m, p);
}

static void add_lines(struct moved *m, const char *text)
{
    int number = 1;
    for (const char *p = text, *end; *p; p = end + (*end == '\n')) {
        size_t kept = m->source.len;
        end = add_line(m, p);
        if (!end) {
            m->source.len = kept;
            AUTO_FREE char *line = mem_strndup(p, line_length(p));
            stay(m, str_fmt("line %d: %s", number, str_short(line, 60).text));
            return;
        }
        for (const char *c = p; c < end; c++)
            number += *c == '\n';
        number++;
        if (*end)
            buf_char(&m->source, '\n');
    }
}

// "%%writefile app.yaml": the cell's option says it, and its language for the editor.
static void add_file(struct moved *m, const char *path, const char *body)
{
    static const char *const endings[][2] = {{".py", "python"}, {".yaml", "yaml"}, {".yml", "yaml"},
        {".json", "json"}, {".sh", "bash"}, {".sql", "sql"}, {"ockerfile", "dockerfile"},
        {".R", "r"}, {".txt", "text"}};
    const char *language = str_ends(path, ".lua") ? NULL : "text";
    for (size_t i = 0; i < ARRAY_LEN(endings); i++)
        if (str_ends(path, endings[i][0]))
            language = endings[i][1];
    bool names = *path == '$' && name_length(path + 1) == strlen(path + 1);
    if (!*path || (!names && path[strcspn(path, "${}~'\" ")])) {
        stay(m, str_fmt("line 1: %%%%writefile %s", str_short(path, 60).text));
        return;
    }
    if (names) { // the option has no variables, the magic has
        m->reads = strv_add(m->reads, path + 1);
        buf_str(&m->source, m->cell->source);
        return;
    }
    json_set_str(m->set, "file", path);
    json_set_str(m->set, "language", language);
    buf_str(&m->source, body);
}

static void move_cell(struct moved *m)
{
    const char *text = m->cell->source;
    size_t n = line_length(text);
    AUTO_FREE char *first = mem_strndup(text, n);
    AUTO_FREE char *head = str_trim(first, n);
    const char *body = text + n + (text[n] == '\n');
    m->set = cJSON_CreateObject();
    if (m->cell->options.language || m->cell->options.file || m->cell->options.template_) {
        note_variables(m, text);
        buf_str(&m->source, text); // its options say what it is in Lua, too
    } else if (str_eq(head, "%%bash") || str_eq(head, "%%sh")) {
        json_set_str(m->set, "language", "bash");
        m->cluster = uses_cluster(body);
        note_variables(m, body);
        buf_str(&m->source, body);
    } else if (str_starts(head, "%%writefile ")) {
        add_file(m, head + strlen("%%writefile "), body);
    } else if (str_eq(head, "%%lua")) {
        buf_str(&m->source, body);
    } else if (str_eq(head, "%%time")) {
        buf_fmt(&m->source, "%s\n", head);
        add_lines(m, body);
    } else {
        add_lines(m, text);
    }
}

// All cells.

struct moving {
    struct moved *list;
    size_t n;
};

// Of a cell that stays: does its text set variables? A script of another language does not.
static bool is_python(const cell *c)
{
    static const char *const magics[] = {"%%time", "%%capture", "%%prun"};
    bool python = !str_starts(c->source, "%%");
    for (size_t i = 0; i < ARRAY_LEN(magics); i++)
        python = python || str_starts(c->source, magics[i]);
    return python && !c->options.language && !c->options.file;
}

static bool python_sets(const struct moving *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->list[i].why && is_python(all->list[i].cell) &&
            assigns(all->list[i].cell->source, name))
            return true;
    return false;
}

// Does Python's process have it in its environment, which no other process sees?
static bool python_exports(const struct moving *all, const char *name)
{
    AUTO_FREE char *magic = str_fmt("%%env %s", name);
    for (size_t i = 0; i < all->n; i++) {
        const char *text = all->list[i].cell->source;
        if (all->list[i].why &&
            (strstr(text, magic) || (strstr(text, "environ") && find_name(text, name))))
            return true;
    }
    return false;
}

static bool python_has(const struct moving *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->list[i].why && find_name(all->list[i].cell->source, name))
            return true;
    return false;
}

static bool lua_sets(const struct moving *all, size_t until, const char *name)
{
    for (size_t i = 0; i <= until; i++)
        if (!all->list[i].why && has(all->list[i].sets, name))
            return true;
    return false;
}

// Imports that no cell in Python needs are comments; else their cell stays.
static bool needs_imports(const struct moving *all, const struct moved *m)
{
    for (const char *p = m->cell->source; *p;) {
        size_t n = name_length(p);
        AUTO_FREE char *name = mem_strndup(p, n);
        for (size_t i = 0; n && i < all->n; i++)
            if (all->list[i].why && !str_eq(name, "import") && !str_eq(name, "from") &&
                !str_eq(name, "as") && find_name(all->list[i].cell->source, name))
                return true;
        p += n ? n : 1;
    }
    return false;
}

// Why a cell stays although its lines could go; new, NULL: it goes.
static char *shared_name(const struct moving *all, size_t i)
{
    const struct moved *m = &all->list[i];
    if (m->imports)
        return needs_imports(all, m) ? mem_strdup("cells in Python need its imports") : NULL;
    for (char **name = m->sets; name && *name; name++)
        if (python_sets(all, *name))
            return str_fmt("a cell in Python sets %s, too", *name);
    for (char **name = m->reads; name && *name; name++)
        if (!lua_sets(all, i, *name) || python_sets(all, *name))
            return str_fmt("%s is a variable of Python's", *name);
    for (char **name = m->shell; name && *name; name++)
        if (python_sets(all, *name) || python_exports(all, *name))
            return str_fmt("$%s is Python's", *name);
    for (char **name = m->exports; name && *name; name++)
        if (python_has(all, *name))
            return str_fmt("a cell in Python uses $%s", *name);
    return NULL;
}

// Until nothing changes: a cell that stays may keep others.
static void settle(struct moving *all)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < all->n; i++) {
            struct moved *m = &all->list[i];
            char *why = m->why ? NULL : shared_name(all, i);
            if (why)
                stay(m, why);
            changed = changed || why;
        }
    }
}

// A cell with the title and the options of another one (NULL: without), and these.
static void add_cell(
    notebook *to, cell_kind kind, const cell *like, const cJSON *set, const char *source)
{
    cell *mark = cell_new();
    cJSON *metadata = like ? cJSON_Duplicate(like->kept->metadata, true) : cJSON_CreateObject();
    const cJSON *item;
    cJSON_ArrayForEach(item, set)
    {
        json_set(metadata, item->string, cJSON_Duplicate(item, true));
    }
    cell_mark_json(mark, kind, mem_strdup(like ? like->title : NULL), metadata);
    notebook_insert(to, notebook_count(to), mark->marker, source);
    cell_free(mark);
}

// Variables that cells in Python read, too, are set there: behind a cell of parameters in a cell of
// its own, since values that are given come between.
static void put_lua(notebook *to, const struct moving *all, struct moved *m)
{
    AUTO_BUF names = {0};
    for (char **name = m->sets; name && *name; name++)
        if (python_has(all, *name))
            buf_fmt(&names, "%s%s = %s", names.len ? ", " : "", *name, *name);
    bool apart = has(m->cell->options.tags, "parameters");
    AUTO_FREE char *line = names.len ? str_fmt("py.set { %s }", buf_cstr(&names)) : NULL;
    if (line && !apart)
        buf_fmt(&m->source, "\n%s", line);
    add_cell(to, CELL_CODE, m->cell, m->set, buf_cstr(&m->source));
    if (line && apart)
        add_cell(to, CELL_CODE, NULL, NULL, line);
}

static void put_cell(notebook *to, const notebook *from, const struct moving *all, struct moved *m)
{
    const cell *c = m->cell;
    AUTO_FREE char *python = m->why ? cell_jupyter_source(from, c) : NULL; // with its %%bash, too
    m->cluster = m->cluster || (python && uses_cluster(python));
    if (m->cluster && !c->options.effects)
        cJSON_AddItemToArray(json_array_at(m->set, "effects"), cJSON_CreateString("cluster"));
    if (!python) {
        put_lua(to, all, m);
        return;
    }
    json_set_str(m->set, "language", "python");
    add_cell(to, CELL_CODE, c, m->set, python);
}

static void moved_done(struct moved *m)
{
    buf_done(&m->source);
    cJSON_Delete(m->set);
    strv_free(m->sets);
    strv_free(m->reads);
    strv_free(m->shell);
    strv_free(m->exports);
    free(m->why);
}

notebook *notebook_to_lua(const notebook *nb, notebook_left_fn *left, void *arg)
{
    notebook *to = notebook_blank();
    struct moving all = {mem_array(notebook_count(nb) + 1, sizeof(struct moved)), 0};
    for (size_t i = 0; i < notebook_count(nb); i++)
        if (notebook_cell(nb, i)->kind == CELL_CODE) {
            all.list[all.n] = (struct moved){.cell = notebook_cell(nb, i)};
            move_cell(&all.list[all.n++]);
        }
    settle(&all);
    for (size_t i = 0, at = 0; i < notebook_count(nb); i++) {
        const cell *c = notebook_cell(nb, i);
        if (c->kind != CELL_CODE) {
            add_cell(to, c->kind, c, NULL, c->source);
            continue;
        }
        struct moved *m = &all.list[at++];
        put_cell(to, nb, &all, m);
        left(arg, i, m->why, m->cluster);
    }
    notebook_delete(to, 0);
    for (size_t i = 0; i < all.n; i++)
        moved_done(&all.list[i]);
    free(all.list);
    return to;
}
