// SPDX-License-Identifier: MIT
// Which language a notebook's cells are in, by what it says of itself or its file's name: those of
// others are shown and saved, and not run as Lua.
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

// Names of kernels that say no language, by how they begin.
static const struct {
    const char *kernel, *language;
} kernels[] = {
    {"python", "python"}, {"pyspark", "python"}, {"sage", "sage"}, {"julia", "julia"}, {"ir", "R"}};

static const struct {
    const char *end, *language;
} extensions[] = {{".py", "python"}, {".R", "R"}, {".r", "R"}, {".jl", "julia"}, {".sh", "bash"},
    {".sage", "sage"}, {".scala", "scala"}, {".js", "javascript"}, {".ts", "typescript"},
    {".rs", "rust"}, {".c", "C"}, {".cpp", "C++"}};

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
    nb->language = language_is_ours(said) ? NULL : mem_strdup(said);
}

void language_from_path(notebook *nb, const char *path)
{
    for (size_t i = 0; !nb->language && i < ARRAY_LEN(extensions); i++)
        if (str_ends(path, extensions[i].end))
            nb->language = mem_strdup(extensions[i].language);
}

const char *notebook_language(const notebook *nb)
{
    return nb->language;
}

int notebook_runs(const notebook *nb, err *e)
{
    if (!nb->language)
        return 0;
    AUTO_FREE char *name = mem_strdup(nb->language);
    *name = (char)toupper((unsigned char)*name);
    return err_set(e, ERR_USAGE,
        "this notebook is in %s, and firesteel runs Lua: run it with Jupyter's kernel for %s, or "
        "start one in Lua that keeps the %s in cells with file=\"…\" and runs those files with sh",
        name, name, name);
}
