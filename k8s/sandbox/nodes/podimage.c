// SPDX-License-Identifier: MIT
#include "k8s/sandbox/nodes/podimage.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/index.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct pull {
    podimages *owner;
    struct pull *next;
    pthread_t thread;
    podimage *image;
    podimage result; // the thread's result; ref is borrowed
};

struct podimages {
    loop *loop;
    image_store *store;
    char *cache;
    struct pull *busy;
    void (*finished)(void *arg);
    void *arg;
    bool closed;
};

podimages *podimages_open(
    loop *l, const char *images, const char *cache, void (*finished)(void *arg), void *arg, err *e)
{
    image_store *store = image_store_open(images, e);
    if (!store)
        return NULL;
    podimages *p = mem_alloc(sizeof *p);
    *p = (podimages){
        .loop = l, .store = store, .cache = mem_strdup(cache), .finished = finished, .arg = arg};
    return p;
}

void podimage_unref(podimage *i)
{
    if (!i || --i->refs > 0)
        return;
    free(i->ref);
    free(i->root);
    free(i->id);
    image_config_done(&i->config);
    free(i);
}

static bool is_loopback(const char *host)
{
    return str_starts(host, "127.") || str_eq(host, "localhost") || str_starts(host, "localhost:");
}

// The store's name for the pod's name `text`: without this machine's registry in front.
static char *store_name(const char *text, err *e)
{
    oci_ref ref;
    if (oci_ref_parse(text, &ref, e))
        return NULL;
    char *name = NULL;
    if (ref.host && !is_loopback(ref.host))
        err_set(e, ERR_NOT_FOUND,
            "%s: not found: the sandbox has only the images of this machine's store", text);
    else if (ref.digest)
        name = str_fmt("%s@%s", ref.name, ref.digest);
    else
        name = str_fmt("%s:%s", ref.name, ref.tag ? ref.tag : "latest");
    oci_ref_done(&ref);
    return name;
}

static int64_t layers_size(const image_store *s, const oci_digest *manifest)
{
    oci_manifest m;
    if (image_store_manifest(s, manifest, &m, NULL))
        return 0;
    int64_t size = oci_manifest_bytes(&m) - m.config.size;
    oci_manifest_done(&m);
    return size;
}

static int unpack(const podimages *p, podimage *i)
{
    AUTO_FREE char *name = store_name(i->ref, &i->why);
    oci_descriptor d;
    if (!name || image_store_find(p->store, name, &d, &i->why))
        return -1;
    AUTO_FREE char *unpacked = str_fmt("%s/%s/rootfs", p->cache, oci_digest_hex(&d.digest));
    i->cached = path_exists(unpacked);
    int64_t start = clock_mono();
    if (image_config_read(p->store, &d.digest, &i->config, &i->why) ||
        !(i->root = image_unpack(p->store, &d.digest, p->cache, NULL, &i->why)))
        return -1;
    i->took = clock_mono() - start;
    i->size = layers_size(p->store, &d.digest);
    size_t base = strcspn(name, "@");
    const char *tag = memrchr(name, ':', base), *slash = memrchr(name, '/', base);
    if (tag && (!slash || tag > slash))
        base = (size_t)(tag - name);
    i->id = str_fmt("%.*s@%s", (int)base, name, d.digest.text);
    return 0;
}

static void destroy(podimages *p)
{
    image_store_free(p->store);
    free(p->cache);
    free(p);
}

// On the loop's thread, when the pull's thread has finished.
static void settle(void *arg)
{
    struct pull *pull = arg;
    podimages *p = pull->owner;
    pthread_join(pull->thread, NULL);
    struct pull **at = &p->busy;
    while (*at != pull)
        at = &(*at)->next;
    *at = pull->next;
    podimage *i = pull->image, *r = &pull->result;
    i->why = r->why;
    i->root = r->root;
    i->id = r->id;
    i->config = r->config;
    i->size = r->size;
    i->cached = r->cached;
    i->took = r->took;
    i->state = r->why.code ? PULL_FAILED : PULL_DONE;
    podimage_unref(i);
    free(pull);
    if (p->finished)
        p->finished(p->arg);
    if (p->closed && !p->busy)
        destroy(p);
}

static void *run(void *arg)
{
    struct pull *pull = arg;
    if (unpack(pull->owner, &pull->result) && !pull->result.why.code)
        err_set(&pull->result.why, ERR_FAILED, "cannot unpack %s", pull->result.ref);
    loop_post(pull->owner->loop, settle, pull);
    return NULL;
}

podimage *podimages_pull(podimages *p, const char *ref)
{
    for (struct pull *pull = p->busy; pull; pull = pull->next) {
        if (str_eq(pull->image->ref, ref)) {
            pull->image->refs++;
            return pull->image;
        }
    }
    podimage *i = mem_alloc(sizeof *i);
    *i = (podimage){.ref = mem_strdup(ref),
        .refs = 1,
        .is_host = str_eq(ref, "host") || str_starts(ref, "host:")};
    if (i->is_host) {
        i->state = PULL_DONE;
        i->id = mem_strdup("host");
        return i;
    }
    struct pull *pull = mem_alloc(sizeof *pull);
    *pull = (struct pull){.owner = p, .next = p->busy, .image = i, .result = {.ref = i->ref}};
    i->refs++;
    int failed = pthread_create(&pull->thread, NULL, run, pull);
    if (failed) {
        err_start(&i->why, failed, "cannot start a thread to unpack %s", ref);
        i->state = PULL_FAILED;
        podimage_unref(i);
        free(pull);
        return i;
    }
    p->busy = pull;
    return i;
}

void podimages_close(podimages *p)
{
    if (!p)
        return;
    p->finished = NULL;
    p->closed = true;
    if (!p->busy) // otherwise the last busy thread makes `settle` free it
        destroy(p);
}
