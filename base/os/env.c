// SPDX-License-Identifier: MIT
#include "base/os/env.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

const char *env_get(const char *const *env, const char *name)
{
    size_t n = strlen(name);
    for (; env && *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

char **env_set(char **env, const char *name, const char *value)
{
    size_t n = strlen(name);
    AUTO_FREE char *entry = value ? str_fmt("%s=%s", name, value) : NULL;
    for (char **at = env; at && *at; at++) {
        if (strncmp(*at, name, n) != 0 || (*at)[n] != '=')
            continue;
        free(*at);
        if (entry) {
            *at = STEAL(entry);
            return env;
        }
        for (char **rest = at; (rest[0] = rest[1]); rest++)
            ;
        return env;
    }
    return entry ? strv_add(env, entry) : env;
}
