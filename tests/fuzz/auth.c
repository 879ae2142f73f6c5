// SPDX-License-Identifier: MIT
// Logging in to a registry: challenges, and docker's configuration. A "user:password" stored as
// base64 is read back.
#include "k8s/image/registry/auth.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void look_up(const cJSON *config)
{
    static const char *const hosts[] = {
        "example.org", "localhost:5000", "docker.io", "index.docker.io", "", "a"};
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        auth_credentials found;
        err e;
        if (auth_find(config, hosts[i], "team/app", &found, &e) == 0) {
            if (!found.helper && !found.user != !found.password)
                abort();
            auth_credentials_done(&found);
        }
    }
}

// Uses the input as a password.
static void there_and_back(const char *password)
{
    AUTO_JSON *config = cJSON_CreateObject();
    AUTO_BUF encoded = {0};
    AUTO_FREE char *both = str_fmt("u:%s", password);
    auth_credentials found;
    err e;
    base64_encode(&encoded, both, strlen(both));
    json_set_str(
        json_object_at(json_object_at(config, "auths"), "example.org"), "auth", buf_cstr(&encoded));
    if (auth_find(config, "example.org", "team/app", &found, &e) != 0)
        abort();
    if (!str_eq(found.user, "u") || !str_eq(found.password, password))
        abort();
    auth_credentials_done(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO_FREE char *text = mem_strndup((const char *)data, n);
    auth_challenge challenge;
    auth_challenge_parse(text, &challenge);
    auth_challenge_done(&challenge);
    AUTO_JSON *config = json_parse((const char *)data, n, NULL);
    if (config)
        look_up(config);
    if (*text)
        there_and_back(text);
    return 0;
}
