// SPDX-License-Identifier: MIT
// The server's OpenAPI v3 documents: an index of them, and one for each group's version.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/private.h"

static cJSON *ask(client *c, const struct patience *p, const char *path, err *e)
{
    return request_json(c, p,
        &(struct request){
            .path = path, .repeatable = true, .what = "ask what the fields of a kind mean"},
        e);
}

cJSON *client_openapi(client *c, const struct patience *p, const struct resource *r, err *e)
{
    AUTO_FREE char *group =
        *r->group ? str_fmt("apis/%s/%s", r->group, r->version) : str_fmt("api/%s", r->version);
    AUTO_JSON *index = ask(c, p, "/openapi/v3", e);
    const char *url = json_str(json_get(json_get(index, "paths"), group), "serverRelativeURL");
    if (index && (!url || *url != '/'))
        err_set(e, ERR_NOT_FOUND, "the server has no OpenAPI v3 document of %s", r->api_version);
    return url && *url == '/' ? ask(c, p, url, e) : NULL;
}
