// SPDX-License-Identifier: MIT
#include "k8s/client/auth/oidc.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

enum { SOON_S = 10 }; // client-go takes a token that expires so soon for one that has

// The middle part of a JWT (RFC 7519): base64url without padding. New; NULL: it is none.
static cJSON *claims(const char *token)
{
    const char *from = strchr(token, '.'), *to = from ? strchr(from + 1, '.') : NULL;
    if (!to)
        return NULL;
    AUTO_BUF text = {0}, json = {0};
    for (const char *p = from + 1; p < to; p++)
        buf_char(&text, *p == '-' ? '+' : *p == '_' ? '/' : *p);
    while (text.len % 4)
        buf_char(&text, '=');
    if (base64_decode(&json, buf_cstr(&text), text.len, NULL) != 0)
        return NULL;
    return json_parse(buf_cstr(&json), json.len, NULL);
}

// kubectl asks the issuer for a new token, and writes it into the kubeconfig.
static char *refuse(const char *what, const cJSON *config, err *e)
{
    const char *refresh = json_str(config, "refresh-token");
    if (refresh && *refresh)
        err_set(e, ERR_UNAUTHORIZED,
            "auth-provider oidc: %s; `kubectl version` renews it, and writes it into the "
            "kubeconfig "
            "(an exec plugin such as kubelogin does so for all clients)",
            what);
    else
        err_set(e, ERR_UNAUTHORIZED,
            "auth-provider oidc: %s, and there is no refresh-token: log in again", what);
    return NULL;
}

char *oidc_token(const cJSON *config, int64_t now, err *e)
{
    static const char *const needed[] = {"idp-issuer-url", "client-id"};
    for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
        const char *value = json_str(config, needed[i]);
        if (value && *value)
            continue;
        err_set(e, ERR_INVALID, "auth-provider oidc: its config has no %s", needed[i]);
        return NULL;
    }
    const char *token = json_str(config, "id-token");
    if (!token || !*token)
        return refuse("there is no id-token", config, e);
    AUTO_JSON *said = claims(token);
    double expires;
    if (!json_number(json_get(said, "exp"), &expires)) {
        err_set(e, ERR_INVALID,
            "auth-provider oidc: the id-token is no JWT that says when it expires (exp)");
        return NULL;
    }
    if (expires > (double)(now / CLOCK_SEC) + SOON_S)
        return mem_strdup(token);
    AUTO_BUF when = {0};
    clock_rfc3339(&when, (int64_t)expires * CLOCK_SEC, CLOCK_SECONDS);
    AUTO_FREE char *what = str_fmt("the id-token has expired (%s)", buf_cstr(&when));
    return refuse(what, config, e);
}
