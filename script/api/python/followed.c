// SPDX-License-Identifier: MIT
#include "script/api/python/followed.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/k8s/cluster.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void hide_credentials(call *c, const cJSON *config)
{
    static const char *const secret[] = {"token", "password", "client-key-data"};
    const cJSON *user;
    cJSON_ArrayForEach(user, json_get(config, "users"))
    {
        for (size_t i = 0; i < ARRAY_LEN(secret); i++) {
            const char *text = json_str(json_get(user, "user"), secret[i]);
            if (text && *text)
                call_secret(c, text);
        }
    }
}

char *followed_text(call *c, err *e)
{
    err why = {0};
    struct client_options options = bind_options(c);
    AUTO_JSON *config = kubeconfig_whole(&options, &why);
    if (!config && why.code != ERR_NOT_FOUND) {
        err_set(e, why.code, "%s", why.text);
        return NULL;
    }
    if (!config)
        return mem_strdup("");
    hide_credentials(c, config);
    return json_to_str(config);
}

int followed_set(const char *folder, const char *text, const char *refusing, err *e)
{
    AUTO_FREE char *path = path_join(folder, FOLLOWED_NAME);
    AUTO_FREE char *next = str_fmt("%s.next", path);
    if (unlink(next) < 0 && errno != ENOENT)
        return err_errno(e, errno, "cannot make %s", path);
    if (text && path_write(next, text, strlen(text), 0600, e) < 0)
        return -1;
    if ((!text && symlink(refusing, next) < 0) || rename(next, path) < 0)
        return err_errno(e, errno, "cannot make %s", path);
    return 0;
}
