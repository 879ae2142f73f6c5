// SPDX-License-Identifier: MIT
// Where the cursor is in a manifest that is being typed, and so need not be YAML yet: found from
// the indentation of its lines. Pure. A flow of braces and text in a block are no places.
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct manifest_place {
    char *api_version, *kind; // of the document; NULL: not written yet
    char **path;              // keys and "[]" to what has the key, or to the value; NULL-terminated
    bool value;               // a value is typed; else a key
    size_t from;              // the byte of the text where what is typed begins
    char **siblings;          // the keys that stand there already, without the one that is typed
};
// false: it is no place where a key or a value could be completed. Free it with the function below
// in any case.
bool manifest_place_at(const char *text, size_t cursor, struct manifest_place *out);
void manifest_place_done(struct manifest_place *p);
