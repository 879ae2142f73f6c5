// SPDX-License-Identifier: MIT
// Reviews: what the server says of us. They are posted, but nothing is stored.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/private.h"

#include <string.h>

// The answer to a review that is posted to "/apis/GROUP/VERSION/KINDS".
static cJSON *post(client *c, const struct patience *p, const char *kinds, const cJSON *review,
    const char *what, err *e)
{
    AUTO_FREE char *path = str_fmt("/apis/%s/%s", json_str(review, "apiVersion"), kinds);
    AUTO_FREE char *body = json_to_str(review);
    return request_json(c, p,
        &(struct request){.method = "POST",
            .path = path,
            .type = "application/json",
            .body = body,
            .body_n = strlen(body),
            .repeatable = true,
            .what = what},
        e);
}

int client_can_i(client *c, const struct patience *p, const char *verb, const struct resource *r,
    const char *ns, const char *name, const char *sub, char **reason, err *e)
{
    AUTO_JSON *review = cJSON_CreateObject();
    json_set_str(review, "apiVersion", "authorization.k8s.io/v1");
    json_set_str(review, "kind", "SelfSubjectAccessReview");
    cJSON *about = json_object_at(json_object_at(review, "spec"), "resourceAttributes");
    json_set_str(about, "verb", verb);
    json_set_str(about, "group", r->group);
    json_set_str(about, "version", r->version);
    json_set_str(about, "resource", r->plural);
    json_set_str(about, "subresource", sub);
    json_set_str(about, "namespace", r->namespaced ? ns : NULL);
    json_set_str(about, "name", name);
    AUTO_FREE char *asked = str_fmt("ask whether we may %s", verb);
    AUTO_FREE char *what = client_sentence(asked, r, ns, name);
    AUTO_JSON *answer = post(c, p, "selfsubjectaccessreviews", review, what, e);
    if (!answer)
        return -1;
    const cJSON *status = json_get(answer, "status");
    if (reason)
        *reason = mem_strdup(json_str(status, "reason"));
    return json_bool_or(status, "allowed", false);
}

cJSON *client_whoami(client *c, const struct patience *p, err *e)
{
    static const char *const versions[] = {"v1", "v1beta1", "v1alpha1"}; // v1: Kubernetes 1.28 on
    err why = {0};
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        AUTO_FREE char *version = str_fmt("authentication.k8s.io/%s", versions[i]);
        AUTO_JSON *review = cJSON_CreateObject();
        json_set_str(review, "apiVersion", version);
        json_set_str(review, "kind", "SelfSubjectReview");
        why = (err){0};
        AUTO_JSON *answer = post(c, p, "selfsubjectreviews", review, "ask who we are", &why);
        if (answer) {
            cJSON *status = (cJSON *)json_get(answer, "status");
            cJSON *user = cJSON_DetachItemFromObjectCaseSensitive(status, "userInfo");
            return user ? user : cJSON_CreateObject();
        }
        if (why.code != ERR_NOT_FOUND)
            break;
    }
    if (why.code == ERR_NOT_FOUND)
        err_set(
            e, ERR_NOT_FOUND, "the server does not tell who we are: it has no selfsubjectreviews");
    else
        err_set(e, why.code, "%s", why.text);
    return NULL;
}
