// SPDX-License-Identifier: MIT
// Reads from a log's socket everything that is there, at once. A kubelet writes a log in pieces of
// a few lines, each of which is a TLS record. GnuTLS makes two reads for each record: its header,
// then its body. Here these reads come from memory:
//    socket ── recv, up to ROOM ──> bytes ── pull, as much as GnuTLS asks for ──> curl
// poll() does not know of the bytes in memory, so a socket with some may never become readable.
// Readers that hold bytes are therefore listed in their pool, and curl is called for them (http.c).
#include "base/mem.h"
#include "k8s/net/private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { ROOM = 32 << 10 };
// From libcurl 8 on, libcurl itself may hold bytes between the socket and GnuTLS.
enum { CURL_NEWEST = 0x080000 };

static bool has_bytes(const struct records *r)
{
    return r->at < r->len;
}

static void wait_in_line(struct records *r)
{
    if (r->waits || !has_bytes(r))
        return;
    r->waits = true;
    r->next = r->pool->records;
    r->pool->records = r;
}

static ssize_t pull(gnutls_transport_ptr_t arg, void *out, size_t n)
{
    struct records *r = arg;
    if (!has_bytes(r)) {
        ssize_t got = recv(r->fd, r->bytes, ROOM, 0);
        if (got <= 0)
            return got; // GnuTLS looks at errno
        r->at = 0;
        r->len = (size_t)got;
    }
    size_t take = n < r->len - r->at ? n : r->len - r->at;
    memcpy(out, r->bytes + r->at, take);
    r->at += take;
    wait_in_line(r);
    return (ssize_t)take;
}

static bool is_at(const struct sockaddr_storage *a, const char *ip, long port)
{
    char text[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *v4 = (const void *)a;
    const struct sockaddr_in6 *v6 = (const void *)a;
    if (a->ss_family == AF_INET)
        return ntohs(v4->sin_port) == port &&
               inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text) && !strcmp(text, ip);
    return a->ss_family == AF_INET6 && ntohs(v6->sin6_port) == port &&
           inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text) && !strcmp(text, ip);
}

// Is the socket connected from this local to this remote address?
static bool connects(curl_socket_t fd, const char *const ips[2], const long ports[2])
{
    struct sockaddr_storage here, there;
    socklen_t here_n = sizeof here, there_n = sizeof there;
    return getsockname(fd, (void *)&here, &here_n) == 0 &&
           getpeername(fd, (void *)&there, &there_n) == 0 && is_at(&here, ips[0], ports[0]) &&
           is_at(&there, ips[1], ports[1]);
}

// The stream's own socket; -1: unknown.
static curl_socket_t socket_of(const http_stream *s)
{
    char *ips[2] = {NULL, NULL};
    long ports[2] = {0, 0};
    curl_easy_getinfo(s->easy, CURLINFO_LOCAL_IP, &ips[0]);
    curl_easy_getinfo(s->easy, CURLINFO_LOCAL_PORT, &ports[0]);
    curl_easy_getinfo(s->easy, CURLINFO_PRIMARY_IP, &ips[1]);
    curl_easy_getinfo(s->easy, CURLINFO_PRIMARY_PORT, &ports[1]);
    for (const struct watched *w = s->pool->watched; w && ips[0] && ips[1]; w = w->next)
        if (connects(w->fd, (const char *const *)ips, ports))
            return w->fd;
    return -1;
}

void records_take(http_stream *s)
{
    struct curl_tlssessioninfo *tls = NULL;
    if (s->records || !s->alone || curl_version_info(CURLVERSION_NOW)->version_num >= CURL_NEWEST ||
        curl_easy_getinfo(s->easy, CURLINFO_TLS_SSL_PTR, &tls) != CURLE_OK || !tls ||
        tls->backend != CURLSSLBACKEND_GNUTLS || !tls->internals || gnutls_late(NULL) != 0)
        return;
    curl_socket_t fd = socket_of(s);
    if (fd < 0)
        return;
    struct records *r = mem_alloc(sizeof *r + ROOM);
    *r = (struct records){.pool = s->pool, .stream = s, .fd = fd};
    gnutls_transport_ptr_t in, out;
    gnutls_transport_get_ptr2(tls->internals, &in, &out);
    gnutls_transport_set_ptr2(tls->internals, r, out);
    gnutls_transport_set_pull_function(tls->internals, pull);
    s->records = r;
}

void records_free(struct records *r)
{
    if (!r)
        return;
    struct records **at = &r->pool->records;
    while (*at && *at != r)
        at = &(*at)->next;
    if (*at)
        *at = r->next;
    free(r);
}

struct records *records_next(struct pool *p)
{
    struct records *r;
    while ((r = p->records)) {
        p->records = r->next;
        r->waits = false;
        if (!r->stream->held && !r->stream->paused && !r->stream->finished)
            return r;
    }
    return NULL;
}
