// SPDX-License-Identifier: MIT
#include "k8s/client/connect/proxy.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/net/http.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

// Splits "host:port", "[v6]:port" or "host": returns the host, and the port or "".
static char *split_port(const char *authority, const char **port)
{
    const char *end = authority + strlen(authority), *colon = strrchr(authority, ':');
    *port = "";
    if (*authority == '[') {
        const char *bracket = strchr(authority, ']');
        if (colon && bracket && colon > bracket)
            *port = colon + 1;
        return mem_strndup(authority + 1, (size_t)((bracket ? bracket : end) - authority - 1));
    }
    if (!colon || strchr(authority, ':') != colon)
        return mem_strdup(authority);
    *port = colon + 1;
    return mem_strndup(authority, (size_t)(colon - authority));
}

static int address(const char *host, uint8_t bytes[16])
{
    return inet_pton(AF_INET, host, bytes) == 1    ? 4
           : inet_pton(AF_INET6, host, bytes) == 1 ? 16
                                                   : 0;
}

static bool in_network(const char *host, const char *network)
{
    uint8_t a[16], b[16];
    const char *slash = strchr(network, '/');
    int64_t bits;
    if (!slash || !str_to_int(slash + 1, &bits))
        return false;
    AUTO_FREE char *base = mem_strndup(network, (size_t)(slash - network));
    int n = address(host, a);
    if (n == 0 || n != address(base, b) || bits < 0 || bits > n * 8)
        return false;
    for (int i = 0; i < bits; i++)
        if ((a[i / 8] ^ b[i / 8]) & (0x80 >> i % 8))
            return false;
    return true;
}

static bool matches(const char *host, const char *port, const char *rule)
{
    if (str_eq(rule, "*") || in_network(host, rule))
        return true;
    const char *rule_port;
    AUTO_FREE char *name = split_port(rule, &rule_port);
    if (*rule_port && !str_eq(rule_port, port))
        return false;
    const char *bare = name + (str_starts(name, "*.") ? 2 : *name == '.');
    size_t n = strlen(host), m = strlen(bare);
    if (m == 0 || m > n || strcasecmp(host + n - m, bare) != 0)
        return false;
    return n == m ? *name != '.' : host[n - m - 1] == '.';
}

static bool is_loopback(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || str_eq(host, "::1") ||
           in_network(host, "127.0.0.0/8");
}

char *proxy_for(const char *url, const char *https_proxy, const char *no_proxy)
{
    if (!https_proxy || !*https_proxy || !str_starts(url, "https:"))
        return NULL;
    AUTO_FREE char *authority = url_host(url);
    const char *port;
    AUTO_FREE char *host = split_port(authority, &port);
    bool direct = is_loopback(host);
    char **rules = strv_split(no_proxy ? no_proxy : "", ',');
    for (char **r = rules; *r && !direct; r++) {
        AUTO_FREE char *rule = str_trim(*r, strlen(*r));
        direct = *rule && matches(host, *port ? port : "443", rule);
    }
    strv_free(rules);
    return direct ? NULL : mem_strdup(https_proxy);
}
