// SPDX-License-Identifier: MIT
// Who we are to a registry: the challenge that it answers with, and what the user's docker
// configuration says. Strings in the results are new and the caller's.
// Sources: RFC 9110 §11, distribution docs/content/spec/auth/token.md, docker's config.json.
#pragma once
#include "base/json.h"

typedef struct auth_challenge {
    enum auth_scheme { AUTH_OTHER, AUTH_BASIC, AUTH_BEARER } scheme;
    char *realm, *service, *scope; // NULL where they were not given
} auth_challenge;
// The value of WWW-Authenticate; the first challenge in it that is Bearer, else Basic.
void auth_challenge_parse(const char *header, auth_challenge *c);
void auth_challenge_done(auth_challenge *c);

// A user and a password; an identity token is the password of user "<token>".
typedef struct auth_credentials {
    char *user, *password;
    char *helper; // "docker-credential-NAME" is to be asked instead; NULL: not
} auth_credentials;
// What config.json's tree says of a host: credHelpers, then credsStore, then auths. All NULL when
// it says nothing. Errors: ERR_INVALID for an entry that is not base64 of "user:password".
int auth_find(const cJSON *config, const char *host, auth_credentials *c, err *e);
void auth_credentials_done(auth_credentials *c);
