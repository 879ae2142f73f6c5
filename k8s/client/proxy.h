// SPDX-License-Identifier: MIT
// Does a proxy stand between us and a server? The rules of HTTPS_PROXY and NO_PROXY as Go has
// them, because kubectl does; the values are passed in.
#pragma once

// The proxy's URL, new, or NULL for none. Loopback is never proxied. no_proxy: a comma list of host
// names (with what is below them), addresses, address/bits, host:port, or "*".
char *proxy_for(const char *url, const char *https_proxy, const char *no_proxy);
