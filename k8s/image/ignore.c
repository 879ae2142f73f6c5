// SPDX-License-Identifier: MIT
#include "k8s/image/ignore.h"

#include "base/mem.h"
#include "base/str.h"

#include <fnmatch.h>
#include <string.h>

char **ignore_parse(const char *text)
{
    char **lines = strv_split(text, '\n'), **patterns = mem_array(1, sizeof *patterns);
    for (char **l = lines; *l; l++) {
        AUTO_FREE char *line = str_trim(*l, strlen(*l));
        if (*line && *line != '#')
            patterns = strv_add(patterns, line);
    }
    strv_free(lines);
    return patterns;
}

// The names of a path or pattern: "./a//b/" has "a" and "b".
static char **names_of(const char *path)
{
    char **parts = strv_split(path, '/'), **names = mem_array(1, sizeof *names);
    for (char **p = parts; *p; p++)
        if (**p && !str_eq(*p, "."))
            names = strv_add(names, *p);
    strv_free(parts);
    return names;
}

// Does the pattern match the path, or a folder above it?
static bool match_names(char *const *pattern, char *const *path)
{
    for (; *pattern; pattern++, path++) {
        if (str_eq(*pattern, "**")) {
            while (str_eq(*pattern, "**"))
                pattern++;
            if (!*pattern)
                return *path != NULL;
            for (; *path; path++)
                if (match_names(pattern, path))
                    return true;
            return false;
        }
        if (!*path || fnmatch(*pattern, *path, 0) != 0)
            return false;
    }
    return true;
}

bool ignore_matches(const char *const *patterns, const char *path)
{
    if (!patterns || !*patterns)
        return false;
    bool ignored = false;
    char **names = names_of(path);
    for (; *patterns; patterns++) {
        bool back = **patterns == '!';
        char **pattern = names_of(*patterns + back);
        if (*pattern && *names && match_names(pattern, names))
            ignored = !back;
        strv_free(pattern);
    }
    strv_free(names);
    return ignored;
}
