// SPDX-License-Identifier: MIT
// GnuTLS, of which libcurl has loaded all when records.c asks for it (base/late.h).
#include "base/late.h"
#include "k8s/net/private.h"

#include <gnutls/gnutls.h>

#define FUNCTIONS(X)                                                                               \
    X(void, gnutls_transport_get_ptr2,                                                             \
        (gnutls_session_t a, gnutls_transport_ptr_t * b, gnutls_transport_ptr_t * c), (a, b, c))   \
    X(void, gnutls_transport_set_ptr2,                                                             \
        (gnutls_session_t a, gnutls_transport_ptr_t b, gnutls_transport_ptr_t c), (a, b, c))       \
    X(void, gnutls_transport_set_pull_function, (gnutls_session_t a, gnutls_pull_func b), (a, b))

LATE_LIBRARY(gnutls, GNUTLS_SONAME, "libgnutls30", FUNCTIONS, LATE_NONE)
