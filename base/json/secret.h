// SPDX-License-Identifier: MIT
// Recognises what looks like a secret by its name or its place in a URL, although nobody has
// declared it. Pure functions; nothing is owned.
#pragma once
#include "base/json/json.h"

#include <stdbool.h>
#include <stddef.h>

// Is this the name of a secret (of a variable, parameter or option)? Case does not matter, and "-"
// equals "_". Yes: GITHUB_TOKEN, db_password, api-key, AWS_ACCESS_KEY_ID, REGISTRY_AUTH. No:
// tokenizer, max_tokens, KEYBOARD, SSH_AUTH_SOCK.
bool secret_name(const char *name);

// Finds the password of "://user:password@", which begins at p; also in "://user:passw…", a text
// that was cut (base/str.h).
enum secret_url {
    SECRET_ABSENT, // none, or only a placeholder such as $PASSWORD, {password} or <password>
    SECRET_FOUND,  // *from and *to are its bounds
    SECRET_CUT,    // the text ends too early to tell
};
enum secret_url secret_in_url(const char *p, const char *end, const char **from, const char **to);
// The password in the first URL of a whole text that has one, with %XX decoded; new. NULL: no URL
// has one. It may contain "/", "?" and "#", as people write them into settings.
char *secret_of_url(const char *text);

#define SECRET_TOLD "[secret]" // shown instead of a secret
// Visits the numbers and the non-empty texts in the tree v, each with the name that describes it:
// its own key, in a list the list's key, and below a secret's key always that key. `name` is v's
// own, or NULL. `fn` may replace the value in `parent`, which is NULL for v if `parent` is.
typedef void secret_visit(void *arg, cJSON *parent, cJSON *value, const char *name);
void secret_visit_tree(cJSON *parent, cJSON *v, const char *name, secret_visit *fn, void *arg);
// Replaces the values whose names are secrets', also v itself if it has a parent. Returns whether
// it replaced any.
bool secret_hide(cJSON *parent, cJSON *v, const char *name);

// Returns the value of the text's next header that carries a secret: "Authorization: Bearer VALUE",
// "X-Api-Key: VALUE", or "Bearer VALUE" alone. NULL: the text has no such header.
const char *secret_of_header(const char *text, size_t *n);
