// SPDX-License-Identifier: MIT
// How we log in to a registry: its challenge, and the credentials in the user's docker
// configuration. Strings in the results are new, and the caller frees them.
// Sources: RFC 9110 §11, distribution docs/content/spec/auth/token.md, docker's config.json.
#pragma once
#include "base/json/json.h"

typedef struct auth_challenge {
    enum auth_scheme { AUTH_OTHER, AUTH_BASIC, AUTH_BEARER } scheme;
    char *realm, *service, *scope; // NULL if not given
} auth_challenge;
// Parses the value of WWW-Authenticate; takes its first challenge that is Bearer, else Basic.
void auth_challenge_parse(const char *header, auth_challenge *c);
void auth_challenge_done(auth_challenge *c);

// A user and a password, or a token: one to fetch tokens with, or one to send.
typedef struct auth_credentials {
    char *user, *password;
    char *identity, *token;
    char *helper; // ask "docker-credential-NAME" instead; NULL: do not
} auth_credentials;
// Reads a config.json or auth.json, in which each field has its type.
cJSON *auth_parse(const char *text, size_t n, err *e);
// Takes what the helper c->helper has answered to "get".
int auth_take_answer(const char *text, size_t n, auth_credentials *c, err *e);
// Looks a repository ("team/app") of a host up in the tree of config.json: credHelpers, then
// credsStore, then auths; the longest key that fits counts, and none of another repository. All
// fields are NULL when there is nothing. Errors: ERR_INVALID for an entry that is not base64 of
// "user:password".
int auth_find(
    const cJSON *config, const char *host, const char *repository, auth_credentials *c, err *e);
void auth_credentials_done(auth_credentials *c);
