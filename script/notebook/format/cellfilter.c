// SPDX-License-Identifier: MIT
// Which metadata of an .ipynb's cells jupytext takes into a text file: metadata_filter.py and
// cell_metadata.py of jupytext 1.19. Keys of keys ("a.b") are not looked at.
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/private.h"

#include <string.h>

// Does the list "a,-b,-all" have the word, with or without "-" before it?
static bool lists(const char *filter, bool excluded, const char *word)
{
    while (*filter) {
        size_t n = strcspn(filter, ",");
        AUTO_FREE char *entry = str_trim(filter, n);
        const char *name = *entry == '-' || *entry == '+' ? entry + 1 : entry;
        name += strspn(name, " ");
        if ((*entry == '-') == excluded && str_eq(name, word))
            return true;
        filter += n + (filter[n] == ',');
    }
    return false;
}

bool cell_filter_takes(const cJSON *metadata, const char *name)
{
    static const char *const left_out[] = {"autoscroll", "collapsed", "scrolled", "trusted",
        "execution", "ExecuteTime", "skipline", "noskipline", "cell_marker",
        "lines_to_end_of_cell_marker"};
    const cJSON *said = json_path(metadata, "jupytext.cell_metadata_filter");
    const char *filter = cJSON_IsTrue(said)     ? "all"
                         : cJSON_IsFalse(said)  ? "-all"
                         : cJSON_IsString(said) ? said->valuestring
                                                : "";
    if (lists(filter, false, "all"))
        return !lists(filter, true, name);
    if (lists(filter, false, name) || lists(filter, true, "all"))
        return lists(filter, false, name) &&
               (lists(filter, true, "all") || !lists(filter, true, name));
    for (size_t i = 0; i < ARRAY_LEN(left_out); i++)
        if (str_eq(name, left_out[i]))
            return false;
    return !lists(filter, true, name);
}
