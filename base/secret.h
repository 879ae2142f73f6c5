// SPDX-License-Identifier: MIT
// Tells what looks like a secret although nobody has declared it: by its name, or by its place in a
// URL. Pure functions; nothing is owned.
#pragma once
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

// Is this the name of a secret, for a variable, a parameter or an option? Case does not matter, and
// "-" equals "_". GITHUB_TOKEN, db_password, api-key, AWS_ACCESS_KEY_ID, REGISTRY_AUTH are;
// tokenizer, max_tokens, KEYBOARD and SSH_AUTH_SOCK are not.
bool secret_name(const char *name);

// Finds the password of "://user:password@", which begins at p; of "://user:passw…", too, where the
// text was cut (base/str.h).
enum secret_url {
    SECRET_ABSENT, // none, or only a placeholder such as $PASSWORD, {password} or <password>
    SECRET_FOUND,  // *from and *to are its bounds
    SECRET_CUT,    // the text ends too early to tell
};
enum secret_url secret_in_url(const char *p, const char *end, const char **from, const char **to);
// The password in the first URL of a whole text that has one, with its %XX decoded; NULL: none. The
// string is new. It may hold "/", "?" and "#", as people write them into settings.
char *secret_of_url(const char *text);

#define SECRET_TOLD "[secret]" // what is told in its place
// Visits the numbers and the texts, but for empty ones, in the tree v, with the names that say what
// they are: its own; in a list that of the list, and below a secret's name that one. `name` is v's,
// which may be NULL. `fn` may replace the value in its parent, which is NULL for v if `parent` is.
typedef void secret_visit(void *arg, cJSON *parent, cJSON *value, const char *name);
void secret_visit_tree(cJSON *parent, cJSON *v, const char *name, secret_visit *fn, void *arg);
// Replaces those whose names are a secret's; v itself if it has a parent. Was there any?
bool secret_hide(cJSON *parent, cJSON *v, const char *name);

// The value of the next header in a text whose name is a secret's, "Authorization: Bearer VALUE",
// "X-Api-Key: VALUE", or of "Bearer VALUE" alone. NULL: there is none.
const char *secret_of_header(const char *text, size_t *n);
