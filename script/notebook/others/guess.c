// SPDX-License-Identifier: MIT
// The language of an .ipynb that does not say it, by what its cells have. Jupyter takes such a file
// for Python; ours and other people's Lua say that they are Lua, but a few of these do not.
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/others/nbformat.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <string.h>

struct signs {
    size_t python, lua, others;
    size_t hashes; // comments of Python, R, Julia, bash
};

static bool begins(const char *line, const char *const *words)
{
    for (; *words; words++)
        if (str_starts(line, *words))
            return true;
    return false;
}

static void look_at_line(const char *line, struct signs *s)
{
    static const char *const python[] = {
        "import ", "from ", "print(f\"", "print(f'", "assert ", "raise ", "async ", NULL};
    static const char *const blocks[] = {"def ", "class ", "if ", "for ", "while ", "with ", "try",
        "else", "elif ", "except", "finally", NULL};
    static const char *const lua[] = {"local ", "--", "elseif ", "function ", "repeat", NULL};
    static const char *const others[] = {"using ", "library(", "require(", "#include", "const ",
        "let ", "var ", "val ", "fn ", "func ", "public ", "package ", "SELECT ", NULL};
    size_t n = strlen(line);
    bool magic = (*line == '%' && (isalpha((unsigned char)line[1]) || line[1] == '%')) ||
                 (*line == '!' && line[1] && line[1] != '=') || *line == '?';
    if (*line == '#' && line[1] != '!')
        s->hashes++;
    s->lua += begins(line, lua) || str_ends(line, " then") || str_ends(line, " do") ||
              str_ends(line, "~= nil");
    s->python += magic || begins(line, python) || (n && line[n - 1] == ':' && begins(line, blocks));
    s->python += strstr(line, "True") || strstr(line, "False") || strstr(line, "None");
    s->others += begins(line, others) || strstr(line, " <- ") || str_ends(line, ";");
}

static void look_at_cell(const char *source, struct signs *s)
{
    while (*source) {
        size_t n = strcspn(source, "\n");
        AUTO_FREE char *line = str_trim(source, n);
        look_at_line(line, s);
        source += n + (source[n] == '\n');
    }
}

static bool is_of_python_site(const cJSON *metadata)
{
    static const char *const keys[] = {"colab", "accelerator", "kaggle"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (json_get(metadata, keys[i]))
            return true;
    const char *lexer = json_path_str(metadata, "jupytext.default_lexer");
    return lexer && str_starts(lexer, "ipython");
}

void language_guess(notebook *nb, const cJSON *j)
{
    struct signs s = {0};
    bool code = false;
    const cJSON *c;
    cJSON_ArrayForEach(c, json_get(j, "cells"))
    {
        AUTO_FREE char *source = nbformat_joined(json_get(c, "source"));
        if (!source || !str_eq(json_str(c, "cell_type"), "code") ||
            json_path(c, "metadata.language"))
            continue;
        code = code || *source;
        look_at_cell(source, &s);
    }
    bool python = is_of_python_site(json_get(j, "metadata")) ||
                  (s.python && s.python >= s.lua + s.others) || (s.hashes && !s.lua && !s.others);
    if (python)
        nb->language = mem_strdup("python");
    else
        nb->undecided = code && (!s.lua || s.others >= s.lua || s.hashes > s.lua);
}
