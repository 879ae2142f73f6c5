// SPDX-License-Identifier: MIT
#include "k8s/image/pull.h"

#include "base/mem.h"
#include "base/str.h"

static void session_done(struct registry_session *s)
{
    registry_end(s);
}

static char *accepted_manifests(void)
{
    return str_fmt("%s, %s, %s, %s", oci_type_text(OCI_TYPE_OCI_MANIFEST),
        oci_type_text(OCI_TYPE_OCI_INDEX), oci_type_text(OCI_TYPE_DOCKER_MANIFEST),
        oci_type_text(OCI_TYPE_DOCKER_INDEX));
}

int image_remote_head(const struct image_remote *remote, const char *name, const char *tag,
    oci_digest *digest, err *e)
{
    CLEANUP(session_done) struct registry_session s = registry_begin(remote, name, "pull");
    AUTO_FREE char *path = str_fmt("/v2/%s/manifests/%s", name, tag);
    AUTO_FREE char *accept = accepted_manifests();
    CLEANUP(http_response_done) struct http_response r = {0};
    struct registry_step step = {.method = "HEAD", .url = path, .accept = accept, .fd = -1};
    if (registry_exchange(&s, &step, &r, e))
        return -1;
    if (r.status != 200)
        return registry_refused(&s, "a look at the tag", &r, e);
    AUTO_FREE char *got = http_header(&r, "Docker-Content-Digest");
    return oci_digest_parse(got, digest, e);
}
