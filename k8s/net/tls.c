// SPDX-License-Identifier: MIT
// TLS material as files in memory: libcurl's GnuTLS takes only names of files, and a key from
// inside a kubeconfig must not be written to any disk.
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/net/private.h"

#include <gnutls/gnutls.h>
#include <string.h>
#include <unistd.h>

#define CERTIFICATE "-----BEGIN CERTIFICATE"

static int memory_file(const void *bytes, size_t n, const char *what, int *fd, char **name, err *e)
{
    if (!bytes)
        return 0;
    *fd = fd_memory("firesteel-tls");
    if (*fd < 0 || fd_write_all(*fd, bytes, n, NULL) != 0)
        return err_set(e, ERR_IO, "%s: no memory file can be made", what);
    *name = str_fmt("/proc/self/fd/%d", *fd);
    return 0;
}

static int expect_pem(const void *bytes, size_t n, const char *mark, const char *what, err *e)
{
    return !bytes || memmem(bytes, n, mark, strlen(mark))
               ? 0
               : err_set(e, ERR_INVALID, "%s is not PEM: there is no \"%s…\" in it", what, mark);
}

static gnutls_datum_t datum(const void *bytes, size_t n)
{
    return (gnutls_datum_t){(unsigned char *)bytes, (unsigned)n};
}

static bool is_certificate(const char *block, size_t n)
{
    gnutls_certificate_credentials_t trusted;
    gnutls_datum_t pem = datum(block, n);
    if (gnutls_certificate_allocate_credentials(&trusted) != 0)
        return false;
    int got = gnutls_certificate_set_x509_trust_mem(trusted, &pem, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(trusted);
    return got > 0;
}

// The certificates of a bundle that can be read. GnuTLS refuses a whole bundle if one certificate
// cannot be read; Go, and so kubectl, skips that one.
static int take_authorities(const struct http_tls_options *o, buf *good, err *e)
{
    static const char end[] = "-----END CERTIFICATE-----";
    AUTO_BUF text = {0};
    if (!o->ca)
        return 0;
    if (expect_pem(o->ca, o->ca_n, CERTIFICATE, "the certificate authority", e) != 0)
        return -1;
    buf_add(&text, o->ca, o->ca_n);
    const char *block = buf_cstr(&text), *after;
    while ((block = strstr(block, CERTIFICATE)) && (after = strstr(block, end))) {
        size_t n = (size_t)(after - block) + strlen(end);
        if (is_certificate(block, n)) {
            buf_add(good, block, n);
            buf_char(good, '\n');
        }
        block += n;
    }
    return good->len ? 0
                     : err_set(e, ERR_INVALID,
                           "the certificate authority has no certificate that can be read");
}

static bool is_encrypted(const struct http_tls_options *o)
{
    return memmem(o->key, o->key_n, "ENCRYPTED", strlen("ENCRYPTED"));
}

// Certificate and key are needed together. This is checked here, so that the error does not come at
// each connection.
static int check_own(const struct http_tls_options *o, err *e)
{
    gnutls_certificate_credentials_t both;
    if (expect_pem(o->cert, o->cert_n, CERTIFICATE, "the client certificate", e) != 0 ||
        expect_pem(o->key, o->key_n, "-----BEGIN", "the client key", e) != 0)
        return -1;
    if (!o->cert || !o->key)
        return !o->cert ? 0 : err_set(e, ERR_INVALID, "the client certificate has no key");
    if (is_encrypted(o))
        return err_set(e, ERR_INVALID,
            "the client key is encrypted, and nobody is asked for its password here: write it "
            "without one, as `openssl pkey -in KEY` does");
    gnutls_datum_t cert = datum(o->cert, o->cert_n), key = datum(o->key, o->key_n);
    if (gnutls_certificate_allocate_credentials(&both) != 0)
        return err_set(e, ERR_FAILED, "GnuTLS has no memory");
    int status = gnutls_certificate_set_x509_key_mem(both, &cert, &key, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(both);
    return status >= 0 ? 0
           : status == GNUTLS_E_CERTIFICATE_KEY_MISMATCH
               ? err_set(e, ERR_INVALID, "the client key is not that of the client certificate")
               : err_set(e, ERR_INVALID, "the client certificate and its key cannot be used: %s",
                     gnutls_strerror_name(status));
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

// The same material is kept only once.
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

// The descriptors stay open as long as the http: their numbers must not be used again, as curl
// would take the connection of an old key for that of a new one.
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
    AUTO_BUF authorities = {0};
    if (gnutls_late(e) != 0 || take_authorities(o, &authorities, e) != 0 || check_own(o, e) != 0 ||
        memory_file(authorities.data, authorities.len, "the certificate authority", &t->ca_fd,
            &t->ca, e) != 0 ||
        memory_file(o->cert, o->cert_n, "the client certificate", &t->cert_fd, &t->cert, e) != 0 ||
        memory_file(o->key, o->key_n, "the client key", &t->key_fd, &t->key, e) != 0) {
        tls_free(t);
        return NULL;
    }
    pthread_mutex_lock(&h->tls_lock);
    t->next = h->tls;
    h->tls = t;
    pthread_mutex_unlock(&h->tls_lock);
    return t;
}

char *http_authorities(const char *root)
{
    static const char *const files[] = {
        "/etc/ssl/certs/ca-certificates.crt", // Debian, Alpine
        "/etc/pki/tls/certs/ca-bundle.crt",   // Red Hat
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/ssl/ca-bundle.pem", // SUSE
        "/var/lib/ca-certificates/ca-bundle.pem",
        "/etc/ssl/cert.pem", // Alpine
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO_FREE char *file = str_fmt("%s%s", root, files[i]);
        if (path_exists(file))
            return STEAL(file);
    }
    return NULL;
}
