// SPDX-License-Identifier: MIT
// The server's OpenAPI v3 documents: an index of them, and one for each group's version.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/private.h"

#include <string.h>

static cJSON *ask(client *c, const struct patience *p, const char *path, err *e)
{
    return request_json(c, p,
        &(struct request){
            .path = path, .repeatable = true, .what = "ask what the fields of a kind mean"},
        e);
}

cJSON *client_openapi_index(client *c, const struct patience *p, err *e)
{
    return ask(c, p, "/openapi/v3", e);
}

cJSON *client_openapi_at(client *c, const struct patience *p, const char *url, err *e)
{
    if (!url || *url != '/') {
        err_set(e, ERR_INVALID, "the server's OpenAPI v3 document has no path of the server");
        return NULL;
    }
    return ask(c, p, url, e);
}

const char *client_openapi_url(const cJSON *index, const char *api_version)
{
    bool core = !strchr(api_version, '/');
    AUTO_FREE char *group = str_fmt(core ? "api/%s" : "apis/%s", api_version);
    return json_str(json_get(json_get(index, "paths"), group), "serverRelativeURL");
}

cJSON *client_openapi(client *c, const struct patience *p, const struct resource *r, err *e)
{
    AUTO_JSON *index = client_openapi_index(c, p, e);
    const char *url = index ? client_openapi_url(index, r->api_version) : NULL;
    if (index && (!url || *url != '/'))
        err_set(e, ERR_NOT_FOUND, "the server has no OpenAPI v3 document of %s", r->api_version);
    return url && *url == '/' ? client_openapi_at(c, p, url, e) : NULL;
}
