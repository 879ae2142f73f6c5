// SPDX-License-Identifier: MIT
#include "script/jupyter/spec.h"

#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/str.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { SPEC_MOST = 1 << 20 }; // bytes of a kernel.json

static const char *const system_folders[] = {
    "/usr/local/share/jupyter", "/usr/share/jupyter", NULL};

// What Jupyter calls the kernel of a language, and how it is installed.
static const struct known {
    const char *language, *kernel, *install;
} languages[] = {
    {"python", "python3", "pip install ipykernel"},
    {"r", "ir",
        "apt install r-cran-irkernel (Debian), or in R: install.packages('IRkernel'); "
        "IRkernel::installspec()"},
    {"bash", "bash", "pip install bash_kernel && python -m bash_kernel.install --sys-prefix"},
    {"julia", "julia", "in Julia: using Pkg; Pkg.add(\"IJulia\")"},
};

void spec_done(struct spec *s)
{
    free(s->name);
    free(s->title);
    free(s->language);
    free(s->path);
    free(s->bin);
    free(s->prefix);
    strv_free(s->argv);
    strv_free(s->env);
    *s = (struct spec){0};
}

bool spec_is_python(const struct spec *s)
{
    return strcasecmp(s->language, "python") == 0;
}

static const struct known *known_language(const char *language)
{
    for (size_t i = 0; language && i < ARRAY_LEN(languages); i++)
        if (strcasecmp(languages[i].language, language) == 0)
            return &languages[i];
    return NULL;
}

// The folders.

static char *environment_below(const char *folder, const char *name)
{
    if (!folder)
        return NULL;
    AUTO_FREE char *at = *name ? path_join(folder, name) : mem_strdup(folder);
    AUTO_FREE char *bin = path_join(at, "bin");
    return path_is_dir(bin) ? STEAL(at) : NULL;
}

char *spec_environment(const struct spec_places *p)
{
    const struct {
        const char *folder, *name;
    } places[] = {{env_get(p->env, "VIRTUAL_ENV"), ""}, {env_get(p->env, "CONDA_PREFIX"), ""},
        {p->cwd, ".venv"}, {p->cwd, "venv"}, {p->notebook_dir, ".venv"}, {p->notebook_dir, "venv"}};
    char *found = NULL;
    for (size_t i = 0; !found && i < ARRAY_LEN(places); i++)
        if (places[i].folder && *places[i].folder)
            found = environment_below(places[i].folder, places[i].name);
    return found;
}

static char **add_below(char **list, const char *folder, const char *name)
{
    if (!folder || !*folder)
        return list;
    AUTO_FREE char *at = path_join(folder, name);
    return strv_add(list, at);
}

char *spec_user_folder(const char *const *env)
{
    const char *own = env_get(env, "JUPYTER_DATA_DIR"), *data = env_get(env, "XDG_DATA_HOME"),
               *home = env_get(env, "HOME");
    if (own && *own)
        return mem_strdup(own);
    if (data && *data)
        return path_join(data, "jupyter");
    return home && *home ? path_join(home, ".local/share/jupyter") : NULL;
}

// The folders that have kernels/NAME, in their order; new.
static char **folders(const struct spec_places *p, const char *environment)
{
    const char *given = env_get(p->env, "JUPYTER_PATH");
    const char *const *system = p->system ? p->system : system_folders;
    char **list = strv_split(given ? given : "", ':');
    list = add_below(list, environment, "share/jupyter");
    AUTO_FREE char *own = spec_user_folder(p->env);
    if (own)
        list = strv_add(list, own);
    for (; *system; system++)
        list = strv_add(list, *system);
    return list;
}

// One kernelspec.

// "PREFIX/share/jupyter/kernels/NAME" → "PREFIX" when it has a bin folder.
static char *prefix_of(const char *path)
{
    static const char tail[] = "/share/jupyter/kernels/";
    AUTO_FREE char *parent = path_dirname(path);
    AUTO_FREE char *with = str_fmt("%s/", parent);
    if (!str_ends(with, tail))
        return NULL;
    AUTO_FREE char *prefix = mem_strndup(with, strlen(with) - strlen(tail));
    return environment_below(prefix, "");
}

static bool is_python(const char *word)
{
    if (!str_starts(word, "python"))
        return false;
    return !word[6 + strspn(word + 6, "0123456789.")];
}

// A bare "python" is the one that the kernelspec was installed with, not the first of PATH.
static void take_python(struct spec *s)
{
    if (!s->prefix || !is_python(s->argv[0]))
        return;
    const char *const names[] = {s->argv[0], "python3", "python"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO_FREE char *bin = path_join(s->prefix, "bin");
        AUTO_FREE char *python = path_join(bin, names[i]);
        if (access(python, X_OK) != 0)
            continue;
        free(s->argv[0]);
        s->argv[0] = STEAL(python);
        return;
    }
}

static void take_prefix(struct spec *s)
{
    s->prefix = prefix_of(s->path);
    AUTO_FREE char *mark = s->prefix ? path_join(s->prefix, "pyvenv.cfg") : NULL;
    AUTO_FREE char *conda = s->prefix ? path_join(s->prefix, "conda-meta") : NULL;
    if (s->prefix && (path_exists(mark) || path_exists(conda)))
        s->bin = path_join(s->prefix, "bin");
}

// "${NAME}" in a value is the environment's.
static char *filled(const char *value, const char *const *env)
{
    AUTO_BUF out = {0};
    for (const char *at = value; *at;) {
        const char *end = str_starts(at, "${") ? strchr(at, '}') : NULL;
        AUTO_FREE char *name = end ? mem_strndup(at + 2, (size_t)(end - at - 2)) : NULL;
        const char *is = name ? env_get(env, name) : NULL;
        if (is)
            buf_str(&out, is);
        else
            buf_char(&out, *at);
        at = is ? end + 1 : at + 1;
    }
    return mem_strdup(buf_cstr(&out));
}

static char **words_of(const cJSON *list)
{
    char **words = mem_array(1, sizeof *words);
    const cJSON *word;
    cJSON_ArrayForEach(word, list) words = strv_add(words, cJSON_GetStringValue(word));
    return words;
}

static bool are_texts(const cJSON *list)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list) if (!cJSON_IsString(item)) return false;
    return true;
}

static int take_json(struct spec *s, const cJSON *j, const char *const *env, err *e)
{
    const cJSON *argv = json_get(j, "argv"), *more = json_get(j, "env"), *item;
    if (!cJSON_IsArray(argv) || !argv->child || !are_texts(argv))
        return err_set(e, ERR_INVALID, "argv is no list of words");
    if (more && (!cJSON_IsObject(more) || !are_texts(more)))
        return err_set(e, ERR_INVALID, "env has values that are no texts");
    s->argv = words_of(argv);
    s->env = mem_array(1, sizeof *s->env);
    cJSON_ArrayForEach(item, more)
    {
        AUTO_FREE char *value = filled(item->valuestring, env);
        s->env = env_set(s->env, item->string, value);
    }
    s->title = mem_strdup(json_str_or(j, "display_name", s->name));
    s->language = mem_strdup(json_str_or(j, "language", ""));
    s->is_xeus = *s->name == 'x';
    s->by_message = str_eq(json_str(j, "interrupt_mode"), "message");
    take_prefix(s);
    take_python(s);
    return 0;
}

static int read_spec(
    const char *path, const char *name, const char *const *env, struct spec *out, err *e)
{
    *out = (struct spec){.name = mem_strdup(name), .path = mem_strdup(path)};
    AUTO_FREE char *file = path_join(path, "kernel.json");
    AUTO_BUF text = {0};
    AUTO_JSON *j =
        path_read(file, &text, SPEC_MOST, e) == 0 ? json_parse(text.data, text.len, e) : NULL;
    if (j && take_json(out, j, env, e) == 0)
        return 0;
    spec_done(out);
    return err_wrap(e, "%s", file);
}

// All of them.

struct search {
    char **names, **paths; // of all kernels, in the order of their folders; as many of each
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// The names of the folders in `folder`, sorted; new.
static char **listed(const char *folder)
{
    char **names = mem_array(1, sizeof *names);
    DIR *dir = opendir(folder);
    for (struct dirent *d; dir && (d = readdir(dir));)
        if (*d->d_name != '.')
            names = strv_add(names, d->d_name);
    if (dir)
        closedir(dir);
    qsort(names, strv_len(names), sizeof *names, by_name);
    return names;
}

static void add_folder(struct search *s, const char *folder)
{
    AUTO_FREE char *kernels = path_join(folder, "kernels");
    char **names = listed(kernels);
    for (char **name = names; *name; name++) {
        AUTO_FREE char *path = path_join(kernels, *name);
        AUTO_FREE char *file = path_join(path, "kernel.json");
        if (!path_exists(file))
            continue;
        s->names = strv_add(s->names, *name);
        s->paths = strv_add(s->paths, path);
    }
    strv_free(names);
}

static void look(struct search *s, const struct spec_places *p)
{
    AUTO_FREE char *environment = spec_environment(p);
    char **all = folders(p, environment);
    s->names = mem_array(1, sizeof *s->names);
    s->paths = mem_array(1, sizeof *s->paths);
    for (char **folder = all; *folder; folder++)
        if (**folder == '/')
            add_folder(s, *folder);
    strv_free(all);
}

static void search_done(struct search *s)
{
    strv_free(s->names);
    strv_free(s->paths);
}

static bool same_folder(const char *a, const char *b)
{
    AUTO_FREE char *left = path_dirname(a);
    AUTO_FREE char *right = path_dirname(b);
    return str_eq(left, right);
}

// Of the language the first one; the usual one, if its folder has it. A kernel.json that cannot be
// read is no kernel of this language.
static bool find_language(
    const struct search *s, const char *language, const char *const *env, struct spec *out)
{
    const struct known *k = known_language(language);
    bool found = false;
    for (size_t i = 0; s->names[i]; i++) {
        struct spec one;
        bool usual = k && str_eq(s->names[i], k->kernel);
        if (found && (!usual || !same_folder(s->paths[i], out->path)))
            continue;
        if (read_spec(s->paths[i], s->names[i], env, &one, NULL) < 0)
            continue;
        if (strcasecmp(one.language, language) != 0) {
            spec_done(&one);
            continue;
        }
        spec_done(out);
        *out = one;
        found = true;
    }
    return found;
}

void spec_each(
    const struct spec_places *places, void (*fn)(void *arg, const struct spec *s), void *arg)
{
    CLEANUP(search_done) struct search s = {0};
    look(&s, places);
    for (size_t i = 0; s.names[i]; i++) {
        struct spec one;
        if (read_spec(s.paths[i], s.names[i], places->env, &one, NULL) < 0)
            continue;
        fn(arg, &one);
        spec_done(&one);
    }
}

static int missing(const struct search *s, const char *name, const char *language, err *e)
{
    const struct known *k = known_language(language);
    AUTO_BUF here = {0};
    for (size_t i = 0; s->names[i]; i++)
        buf_fmt(&here, "%s%s", i ? ", " : "", s->names[i]);
    AUTO_FREE char *what = name ? str_fmt("no Jupyter kernel is called %s", name)
                                : str_fmt("there is no Jupyter kernel for %s", language);
    return err_set(e, ERR_NOT_FOUND, "%s (here: %s). %s%s%s", what,
        here.len ? buf_cstr(&here) : "none",
        k ? "To install one: " : "Install it, and look at `jupyter kernelspec list`",
        k ? k->install : "",
        k && str_eq(k->language, "python")
            ? "; in a virtual environment, `.venv` beside the notebook or the active one, it is "
              "found by itself. Without PyPI: `pip download ipykernel` elsewhere, then "
              "`pip install --no-index --find-links FOLDER ipykernel`"
            : "");
}

int spec_find(const struct spec_places *places, const char *name, bool wish, const char *language,
    struct spec *out, err *e)
{
    CLEANUP(search_done) struct search s = {0};
    *out = (struct spec){0};
    look(&s, places);
    for (size_t i = 0; name && s.names[i]; i++)
        if (strcasecmp(s.names[i], name) == 0)
            return read_spec(s.paths[i], s.names[i], places->env, out, e);
    bool native = name && strcasecmp(name, "python") == 0; // what Jupyter calls its own Python
    if (native)
        language = name;
    bool may_other = (wish || !name || native) && language;
    if (may_other && find_language(&s, language, places->env, out))
        return 0;
    return missing(&s, may_other ? NULL : name, language, e);
}
