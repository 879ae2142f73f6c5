// SPDX-License-Identifier: MIT
// A question to a person, as it is put: a plain value that borrows all it names.
#pragma once
#include "base/json.h"

#include <stdbool.h>

struct question {
    const char *text;
    const char *const *choices; // ended by NULL; NULL: any text
    const cJSON *effect;        // to be allowed; NULL: it is about none
    const char *cell;           // who asks; NULL: the one that runs
    bool secret;                // a password
};
