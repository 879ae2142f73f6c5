// SPDX-License-Identifier: MIT
#include "tui/view/cell/propertywords.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tui/bench/slots.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 200 };

static bool has(char *const *words, const char *word)
{
    for (; words && *words; words++)
        if (str_eq(*words, word))
            return true;
    return false;
}

static char **add(char **words, const char *word, const char *typed)
{
    bool fits = str_starts(word, typed) && !has(words, word) && strv_len(words) < WORDS;
    return fits ? strv_add(words, word) : words;
}

// Adds files below the notebook's folder; names of folders end with a slash.
static char **add_files(const bench *b, char **words, const char *typed)
{
    const char *path = bench_path(b), *slash = strrchr(typed, '/');
    AUTO_FREE char *home = path_dirname(path ? path : "");
    AUTO_FREE char *within = mem_strndup(typed, slash ? (size_t)(slash + 1 - typed) : 0);
    AUTO_FREE char *folder = path_join(home, within);
    DIR *d = opendir(folder);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        bool hidden = entry->d_name[0] == '.' && (!slash || slash[1] != '.');
        AUTO_FREE char *full = path_join(folder, entry->d_name);
        AUTO_FREE char *word =
            str_fmt("%s%s%s", within, entry->d_name, path_is_dir(full) ? "/" : "");
        if (!hidden || (typed[0] == '.' && !slash && entry->d_name[1] != '.'))
            words = add(words, word, typed);
    }
    if (d)
        closedir(d);
    return words;
}

static char **add_tags(const bench *b, char **words, const char *typed)
{
    for (size_t i = 0; i < slot_count(b); i++)
        for (char **tag = slot_cell(b, i)->options.tags; tag && *tag; tag++)
            words = add(words, *tag, typed);
    return add(words, "parameters", typed);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **property_words(const bench *b, property p, const char *typed, size_t *n)
{
    char **words = NULL;
    const char *comma = property_is_list(p) ? strrchr(typed, ',') : NULL;
    const char *last = comma ? comma + 1 + strspn(comma + 1, " ") : typed;
    *n = strlen(last);
    if (p == PROPERTY_FILE || p == PROPERTY_INPUTS || p == PROPERTY_OUTPUTS)
        words = add_files(b, words, last);
    else if (p == PROPERTY_TAGS)
        words = add_tags(b, words, last);
    if (words)
        qsort(words, strv_len(words), sizeof *words, by_name);
    return words;
}
