// SPDX-License-Identifier: MIT
// Finds a notebook's language from its metadata or its file's name, and what runs a language:
// firesteel itself (Lua, bash), a Jupyter kernel, or nothing (texts such as YAML).
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/notebook/private.h"

#include <string.h>
#include <strings.h>

// Names of kernels that say no language, by how they begin.
static const struct {
    const char *kernel, *language;
} kernels[] = {
    {"python", "python"}, {"pyspark", "python"}, {"sage", "sage"}, {"julia", "julia"}, {"ir", "R"}};

static const struct dialect dialects[] = {{".py", "python", "#"}, {".R", "R", "#"},
    {".r", "R", "#"}, {".jl", "julia", "#"}, {".sh", "bash", "#"}, {".sage", "sage", "#"},
    {".coco", "coconut", "#"}, {".ps1", "powershell", "#"}, {".tcl", "tcl", "#"},
    {".xsh", "xonsh", "#"}, {".gp", "gnuplot", "#"}, {".sos", "sos", "#"},
    {".robot", "robotframework", "#"}, {".resource", "robotframework", "#"}, {".cpp", "c++", "//"},
    {".js", "javascript", "//"}, {".ts", "typescript", "//"}, {".scala", "scala", "//"},
    {".rs", "rust", "//"}, {".cs", "csharp", "//"}, {".fsx", "fsharp", "//"},
    {".fs", "fsharp", "//"}, {".java", "java", "//"}, {".groovy", "groovy", "//"},
    {".go", "go", "//"}, {".do", "stata", "//"}, {".c", "C", "//"}, {".hs", "haskell", "--"},
    {".clj", "clojure", ";;"}, {".scm", "scheme", ";;"}, {".ss", "scheme", ";;"},
    {".pro", "idl", ";"}, {".m", "matlab", "%"}, {".lgt", "logtalk", "%"},
    {".logtalk", "logtalk", "%"}, {".q", "q", "/"}};

// Of a cell's language=, with what its cells do.
#define LANGUAGES(X)                                                                               \
    X("lua", KERNEL) /* said of a cell, it is the same as nothing */                               \
    X("bash", BASH)                                                                                \
    X("sh", BASH)                                                                                  \
    X("yaml", TEXT)                                                                                \
    X("python", KERNEL)                                                                            \
    X("dockerfile", TEXT)                                                                          \
    X("json", TEXT)                                                                                \
    X("toml", TEXT)                                                                                \
    X("ini", TEXT)                                                                                 \
    X("text", TEXT)                                                                                \
    X("markdown", TEXT)                                                                            \
    X("html", TEXT)                                                                                \
    X("xml", TEXT)                                                                                 \
    X("sql", TEXT)                                                                                 \
    X("javascript", KERNEL)                                                                        \
    X("css", TEXT)                                                                                 \
    X("makefile", TEXT)                                                                            \
    X("r", KERNEL)                                                                                 \
    X("julia", KERNEL)                                                                             \
    X("scala", KERNEL)                                                                             \
    X("java", KERNEL)                                                                              \
    X("go", KERNEL)                                                                                \
    X("rust", KERNEL)                                                                              \
    X("c", KERNEL)                                                                                 \
    X("c++", KERNEL)                                                                               \
    X("perl", KERNEL)                                                                              \
    X("ruby", KERNEL)                                                                              \
    X("diff", TEXT)

const char *const *language_names(void)
{
    static const char *const names[] = {
#define X(name, does) name,
        LANGUAGES(X)
#undef X
            NULL};
    return names;
}

enum language_does language_does(const char *name)
{
    static const struct {
        const char *name;
        enum language_does does;
    } table[] = {
#define X(name, does) {name, LANGUAGE_##does},
        LANGUAGES(X)
#undef X
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strcasecmp(name, table[i].name) == 0)
            return table[i].does;
    return LANGUAGE_KERNEL;
}

static const char *of_kernel(const char *name)
{
    for (size_t i = 0; name && i < ARRAY_LEN(kernels); i++)
        if (strncasecmp(name, kernels[i].kernel, strlen(kernels[i].kernel)) == 0)
            return kernels[i].language;
    return NULL;
}

bool language_is_ours(const char *name)
{
    return !name || !*name || strcasecmp(name, "lua") == 0 || strcasecmp(name, "firesteel") == 0;
}

const char *language_of_metadata(const cJSON *metadata)
{
    const char *said[] = {json_path_str(metadata, "kernelspec.language"),
        json_path_str(metadata, "language_info.name"),
        json_path_str(metadata, "jupytext.main_language"),
        of_kernel(json_path_str(metadata, "kernelspec.name"))};
    for (size_t i = 0; i < ARRAY_LEN(said); i++)
        if (said[i] && *said[i])
            return said[i];
    return NULL;
}

void language_from_metadata(notebook *nb)
{
    AUTO_FREE char *front = NULL;
    AUTO_JSON *metadata = header_metadata(nb, &front);
    const char *said = language_of_metadata(metadata);
    free(nb->language);
    free(nb->kernel);
    nb->language = language_is_ours(said) ? NULL : mem_strdup(said);
    nb->kernel = nb->language ? mem_strdup(json_path_str(metadata, "kernelspec.name")) : NULL;
}

const struct dialect *dialect_of(const char *path)
{
    for (size_t i = 0; path && i < ARRAY_LEN(dialects); i++)
        if (str_ends(path, dialects[i].end))
            return &dialects[i];
    return NULL;
}

bool notebook_is_script(const char *path)
{
    return dialect_of(path);
}

bool language_is(const char *said, const char *language)
{
    static const char *const same[][2] = {{"c#", "csharp"}, {"f#", "fsharp"}, {"octave", "matlab"}};
    said = said ? said : "lua";
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        said = strcasecmp(said, same[i][0]) == 0 ? same[i][1] : said;
    return strcasecmp(said, language) == 0 ||
           (str_eq(language, "c++") && strncasecmp(said, "c++", 3) == 0);
}

const char *notebook_language(const notebook *nb)
{
    return nb->language;
}

bool notebook_is_undecided(const notebook *nb)
{
    return nb->undecided;
}

const char *notebook_undecided_words(void)
{
    return "it does not say which language its cells are in: write \"language_info\": {\"name\": "
           "\"python\"} (or \"lua\", …) into its \"metadata\"";
}

void notebook_set_language(notebook *nb, const char *language)
{
    if (!nb->metadata)
        return;
    cJSON *info = json_object_at(nb->metadata, "language_info");
    json_set_str(info, "name", language);
    nb->undecided = false;
    language_from_metadata(nb);
}

bool notebook_is_old(const notebook *nb)
{
    return nb->format == 2 || nb->format == 3;
}

const char *notebook_kernel(const notebook *nb)
{
    return nb->kernel;
}

int notebook_use_kernel(notebook *nb, const char *name, err *e)
{
    const char *language = of_kernel(name);
    if (nb->undecided && language)
        notebook_set_language(nb, language);
    if (!nb->language && !nb->undecided)
        return err_set(e, ERR_USAGE,
            "--kernel %s: the notebook's cells are in Lua, which needs no kernel of Jupyter; a "
            "cell in another language names its own with kernel=",
            name);
    free(nb->kernel);
    nb->kernel = mem_strdup(name);
    nb->only = true;
    return 0;
}
