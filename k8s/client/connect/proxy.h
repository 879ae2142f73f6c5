// SPDX-License-Identifier: MIT
// Decides whether to use a proxy for a server. The rules for HTTPS_PROXY and NO_PROXY are Go's, as
// in kubectl. The values are passed in.
#pragma once

// The proxy's URL, new, or NULL for none. Loopback is never proxied. no_proxy: a comma list of host
// names (which include their subdomains), addresses, address/bits, host:port, or "*".
char *proxy_for(const char *url, const char *https_proxy, const char *no_proxy);
