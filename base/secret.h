// SPDX-License-Identifier: MIT
// Tells what looks like a secret although nobody has declared it: by its name, or by its place in a
// URL. Pure functions; nothing is owned.
#pragma once
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
