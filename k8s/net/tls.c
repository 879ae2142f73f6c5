// SPDX-License-Identifier: MIT
// TLS material as files in memory: libcurl's GnuTLS takes only names of files, and a key from
// inside a kubeconfig must not be written to any disk.
#include "base/digest.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "k8s/net/private.h"

#include <string.h>
#include <unistd.h>

static int memory_file(
    const void *bytes, size_t n, const char *mark, const char *what, int *fd, char **name, err *e)
{
    if (!bytes)
        return 0;
    if (!memmem(bytes, n, mark, strlen(mark)))
        return err_set(e, ERR_INVALID, "%s is not PEM: there is no \"%s…\" in it", what, mark);
    *fd = fd_memory("firesteel-tls");
    if (*fd < 0 || fd_write_all(*fd, bytes, n, NULL) != 0)
        return err_set(e, ERR_IO, "%s: no memory file can be made", what);
    *name = str_fmt("/proc/self/fd/%d", *fd);
    return 0;
}

static void tls_free(struct http_tls *t)
{
    int fds[] = {t->ca_fd, t->cert_fd, t->key_fd};
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(t->ca);
    free(t->cert);
    free(t->key);
    free(t->server_name);
    free(t);
}

void tls_free_all(struct http_tls *first)
{
    while (first) {
        struct http_tls *next = first->next;
        tls_free(first);
        first = next;
    }
}

// The same material is kept once, however often it is asked for.
static void digest_of(const struct http_tls_options *o, char out[SHA256_HEX])
{
    AUTO_BUF all = {0};
    const char *name = o->server_name ? o->server_name : "";
    buf_fmt(&all, "%d %zu %zu %zu %s\n", o->insecure, o->ca_n, o->cert_n, o->key_n, name);
    buf_add(&all, o->ca, o->ca_n);
    buf_add(&all, o->cert, o->cert_n);
    buf_add(&all, o->key, o->key_n);
    sha256_hex(all.data, all.len, out);
    explicit_bzero(all.data, all.len);
}

static const http_tls *known(http *h, const char *digest)
{
    pthread_mutex_lock(&h->tls_lock);
    const struct http_tls *t = h->tls;
    while (t && !str_eq(t->digest, digest))
        t = t->next;
    pthread_mutex_unlock(&h->tls_lock);
    return t;
}

// The descriptors stay open as long as the http. If a number were used again for another key, curl
// would take the old key's connection for it.
const http_tls *http_tls_new(http *h, const struct http_tls_options *o, err *e)
{
    char digest[SHA256_HEX];
    digest_of(o, digest);
    const http_tls *same = known(h, digest);
    if (same)
        return same;
    struct http_tls *t = mem_alloc(sizeof *t);
    *t = (struct http_tls){.ca_fd = -1, .cert_fd = -1, .key_fd = -1, .insecure = o->insecure};
    memcpy(t->digest, digest, sizeof digest);
    t->server_name = mem_strdup(o->server_name);
    const char *certificate = "-----BEGIN CERTIFICATE";
    if (memory_file(
            o->ca, o->ca_n, certificate, "the certificate authority", &t->ca_fd, &t->ca, e) != 0 ||
        memory_file(o->cert, o->cert_n, certificate, "the client certificate", &t->cert_fd,
            &t->cert, e) != 0 ||
        memory_file(o->key, o->key_n, "-----BEGIN", "the client key", &t->key_fd, &t->key, e) !=
            0) {
        tls_free(t);
        return NULL;
    }
    pthread_mutex_lock(&h->tls_lock);
    t->next = h->tls;
    h->tls = t;
    pthread_mutex_unlock(&h->tls_lock);
    return t;
}
