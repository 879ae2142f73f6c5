// SPDX-License-Identifier: MIT
#include "script/api/image/fetch.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/index.h"
#include "script/api/image/remote.h"

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

static void tell(
    call *c, const struct remote *r, const char *mirror, const struct image_pulled *p, int64_t ns)
{
    AUTO_BUF line = {0};
    buf_fmt(&line, "pulled %s %.19s (%s%s%s%zu of %zu blobs fetched, ", r->ref, p->digest.text,
        mirror ? "from " : "", mirror ? mirror : "", mirror ? ", " : "", p->fetched,
        p->fetched + p->present);
    work_bytes_text(&line, p->bytes);
    buf_str(&line, ", ");
    duration_format(&line, ns);
    buf_str(&line, ")\n");
    call_output(c, "stdout", line.data, line.len);
}

// A pull that people know by a name, whatever the place it comes from.
struct fetch {
    call *c;
    const image_store *store;
    const char *ref;        // as people wrote it
    const struct remote *r; // where it belongs
    struct image_pulled *out;
};

// mirror: the place that has it instead; NULL: where it belongs.
static int fetch_at(const struct fetch *f, const struct remote *at, const char *mirror, err *e)
{
    AUTO_FREE char *own = name_in_store(f->ref);
    AUTO_FREE char *label = str_fmt("pull %s", f->ref);
    struct work shown;
    call_work(f->c, &shown, label, WORK_BYTES, "layers");
    int status = image_pull(
        f->store, &at->to, &(struct image_pull_from){at->name, at->tag, own, &shown}, f->out, e);
    call_work_end(f->c, &shown);
    if (status)
        return err_wrap(e, "%s", at->to.host);
    tell(f->c, f->r, mirror, f->out, clock_mono() - shown.began);
    return 0;
}

static int fetch_mirrored(
    const struct fetch *f, const struct registry_entry *entry, const char *location, err *e)
{
    CLEANUP(remote_done) struct remote at = {0};
    AUTO_FREE char *place = registries_name(entry, location, f->r->place);
    AUTO_FREE char *ref = str_fmt("%s%c%s", place, strchr(f->r->tag, ':') ? '@' : ':', f->r->tag);
    if (remote_find(f->c, ref, false, &at, e))
        return -1;
    return fetch_at(f, &at, at.place, e);
}

// As registries.conf has it: the mirrors in their order, then the registry itself, which may be
// elsewhere, too.
static int fetch_entry(const struct fetch *f, const struct registry_entry *entry, err *e)
{
    AUTO_BUF tried = {0};
    bool digest = strchr(f->r->tag, ':');
    if (entry && entry->blocked)
        return err_set(e, ERR_FORBIDDEN, "registries.conf blocks images of %s", entry->prefix);
    for (size_t i = 0; entry && i < entry->n; i++) {
        const struct registry_place *m = &entry->mirrors[i];
        err why = {0};
        if (!m->location || !(digest ? m->digests : m->tags))
            continue;
        if (fetch_mirrored(f, entry, m->location, &why) == 0)
            return 0;
        if (why.code == ERR_CANCELLED || why.code == ERR_TIMEOUT)
            return err_give(e, &why);
        buf_fmt(&tried, "%smirror %s", tried.len ? "; " : "", str_short(why.text, 200).text);
    }
    bool elsewhere = entry && entry->own.location && !str_eq(entry->own.location, entry->prefix);
    int status =
        elsewhere ? fetch_mirrored(f, entry, entry->own.location, e) : fetch_at(f, f->r, NULL, e);
    return status && tried.len ? err_wrap(e, "%s; then", buf_cstr(&tried)) : status;
}

// name: as the registry is asked; ref: as people wrote it.
static int fetch_from(call *c, const image_store *s, const char *name, const char *ref,
    struct image_pulled *out, char **from, err *e)
{
    CLEANUP(remote_done) struct remote r = {0};
    CLEANUP(registries_done) struct registries conf = {0};
    if (remote_find(c, name, false, &r, e))
        return -1;
    remote_registries(c, &conf);
    const struct fetch f = {c, s, ref, &r, out};
    if (fetch_entry(&f, registries_entry(&conf, r.place), e))
        return -1;
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
