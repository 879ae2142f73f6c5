// SPDX-License-Identifier: MIT
// What looks like a secret before anybody has said that it is one: by the name it goes by, or by
// its place in a URL. Pure functions; nothing is owned.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// Is this the name of something secret, as variables, parameters and options are named? In any
// case, with "-" for "_". GITHUB_TOKEN, db_password, api-key, AWS_ACCESS_KEY_ID, REGISTRY_AUTH are;
// tokenizer, max_tokens, KEYBOARD and SSH_AUTH_SOCK are not.
bool secret_name(const char *name);

// The password of "://user:password@", which begins at p.
enum secret_url {
    SECRET_ABSENT, // there is none, or a placeholder such as $PASSWORD, {password} or <password>
    SECRET_FOUND,  // *from and *to bound it
    SECRET_CUT,    // the text ends before one can tell
};
enum secret_url secret_in_url(const char *p, const char *end, const char **from, const char **to);
// The password of the first URL of a whole text that has one, with its %XX decoded; NULL: none.
// New. It may hold "/", "?" and "#", as people write them into settings.
char *secret_of_url(const char *text);
