// SPDX-License-Identifier: MIT
#include "script/bind/fetch.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/index.h"
#include "script/bind/remote.h"
#include "script/bind/transfer.h"

#include <string.h>

// The name in the store: without a digest, which is no tag. NULL: only a digest was given.
static char *name_in_store(const char *ref)
{
    const char *at = strchr(ref, '@');
    size_t n = at ? (size_t)(at - ref) : strlen(ref);
    const char *slash = memrchr(ref, '/', n), *name = slash ? slash + 1 : ref;
    if (at && !memchr(name, ':', (size_t)(at - name)))
        return NULL;
    return mem_strndup(ref, n);
}

static void tell(call *c, const struct remote *r, const struct image_pulled *p, int64_t ns)
{
    AUTO_BUF line = {0};
    buf_fmt(&line, "pulled %s %.19s (%zu of %zu blobs fetched, %.1f MB, ", r->ref, p->digest.text,
        p->fetched, p->fetched + p->present, (double)p->bytes / 1e6);
    duration_format(&line, ns);
    buf_str(&line, ")\n");
    call_output(c, "stdout", line.data, line.len);
}

// name: as the registry is asked; ref: as people wrote it.
static int fetch_from(call *c, const image_store *s, const char *name, const char *ref,
    struct image_pulled *out, char **from, err *e)
{
    CLEANUP(remote_done) struct remote r = {0};
    if (remote_find(c, name, false, &r, e))
        return -1;
    AUTO_FREE char *own = name_in_store(ref);
    AUTO_FREE char *label = str_fmt("pull %s", ref);
    struct transfer shown;
    transfer_begin(&shown, c, label);
    int status = image_pull(
        s, &r.to, &(struct image_pull_from){r.name, r.tag, own, &shown.progress}, out, e);
    transfer_end(&shown);
    if (status)
        return err_wrap(e, "%s", r.to.host);
    tell(c, &r, out, clock_mono() - shown.began);
    if (from)
        *from = STEAL(r.ref);
    return 0;
}

// Registries say 401 or 403 of names that they do not have.
static bool may_be_elsewhere(err_code code)
{
    return code == ERR_NOT_FOUND || code == ERR_UNAUTHORIZED || code == ERR_FORBIDDEN;
}

int fetch_image(
    call *c, const image_store *s, const char *ref, struct image_pulled *out, char **from, err *e)
{
    CLEANUP(oci_ref_done) oci_ref parts = {0};
    err why = {0};
    if (oci_ref_parse(ref, &parts, e))
        return -1;
    if (fetch_from(c, s, ref, ref, out, from, &why) == 0)
        return 0;
    bool chosen = why.code != ERR_USAGE; // a registry was asked
    if (parts.host || (chosen && !may_be_elsewhere(why.code)))
        return err_set(e, why.code, "%s", why.text);
    AUTO_FREE char *hub = str_fmt("docker.io/%s", ref);
    if (fetch_from(c, s, hub, ref, out, from, e) == 0)
        return 0;
    return chosen ? err_wrap(e, "%s; then", str_short(why.text, 400).text) : -1;
}

int fetch_missing(call *c, const image_store *s, const char *ref, err *e)
{
    oci_descriptor d;
    err missing = {0}, why = {0};
    struct image_pulled pulled;
    if (image_store_find(s, ref, &d, &missing) == 0)
        return 0;
    if (missing.code != ERR_NOT_FOUND || str_starts(ref, "sha256:"))
        return err_set(e, missing.code, "%s", missing.text);
    if (fetch_image(c, s, ref, &pulled, NULL, &why) == 0)
        return 0;
    return err_set(
        e, why.code, "image %s is not in the local store, and cannot be pulled: %s", ref, why.text);
}
