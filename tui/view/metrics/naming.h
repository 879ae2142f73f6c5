// SPDX-License-Identifier: MIT
// What the curves of a chart are called: by what differs between them, never by what all share. And
// which of them are repeats of one another. All names are new.
#pragma once
#include "base/json/json.h"

struct named {
    const char *run, *child, *branch, *metric; // child, branch NULL: none
    const char *notebook;                      // NULL: unknown
    const cJSON *params;                       // {name: value}; NULL: none
};
// A name for each: the metric if there are several, the parameters that differ, what rank or branch
// it is, and where that is not enough the trial or the end of the run's name. NULL-terminated.
char **naming_of(const struct named *lines, size_t n);
// Which of them differ in nothing but their seed: for each the first one of its group.
void naming_repeats(const struct named *lines, size_t n, size_t *group);
bool naming_is_seed(const char *param);
// The names of the parameters that are not the same in all, in the order in which they are first
// seen; NULL: there are none.
char **naming_differing(const struct named *lines, size_t n);
