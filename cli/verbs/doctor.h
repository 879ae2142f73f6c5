// SPDX-License-Identifier: MIT
// The findings of `firesteel doctor`: a list shared by its parts. The list owns its texts.
#pragma once
#include "base/json/json.h"
#include "cli/cli.h"

#define HEALTHS(X) X(OK, "ok") X(WARN, "warn") X(FAIL, "fail")
enum health {
#define X(name, text) HEALTH_##name,
    HEALTHS(X)
#undef X
};

struct doctor {
    struct cli *cli;
    cJSON *findings; // [{name, state, text, remedy?}]
};

// remedy: one line that says what to do, NULL: nothing to do.
void doctor_found(struct doctor *d, const char *name, enum health health, const char *remedy,
    const char *fmt, ...) __attribute__((format(printf, 5, 6)));
// Checks that need no program: terminal and locale, folders, the login.
void doctor_look(struct doctor *d);
