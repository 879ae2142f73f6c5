// SPDX-License-Identifier: MIT
// GnuTLS (base/os/late.h). libcurl has loaded it already when records.c and tls.c ask for it.
#include "base/os/late.h"
#include "k8s/net/private.h"

#include <gnutls/gnutls.h>

#define FUNCTIONS(X)                                                                               \
    X(void, gnutls_transport_get_ptr2,                                                             \
        (gnutls_session_t a, gnutls_transport_ptr_t * b, gnutls_transport_ptr_t * c), (a, b, c))   \
    X(void, gnutls_transport_set_ptr2,                                                             \
        (gnutls_session_t a, gnutls_transport_ptr_t b, gnutls_transport_ptr_t c), (a, b, c))       \
    X(void, gnutls_transport_set_pull_function, (gnutls_session_t a, gnutls_pull_func b), (a, b))  \
    X(const char *, gnutls_strerror_name, (int a), (a))                                            \
    X(int, gnutls_certificate_set_x509_trust_mem,                                                  \
        (gnutls_certificate_credentials_t a, const gnutls_datum_t *b, gnutls_x509_crt_fmt_t c),    \
        (a, b, c))                                                                                 \
    X(int, gnutls_certificate_allocate_credentials, (gnutls_certificate_credentials_t * a), (a))   \
    X(void, gnutls_certificate_free_credentials, (gnutls_certificate_credentials_t a), (a))        \
    X(int, gnutls_certificate_set_x509_key_mem,                                                    \
        (gnutls_certificate_credentials_t a, const gnutls_datum_t *b, const gnutls_datum_t *c,     \
            gnutls_x509_crt_fmt_t d),                                                              \
        (a, b, c, d))

LATE_LIBRARY(gnutls, GNUTLS_SONAME, "libgnutls30", FUNCTIONS, LATE_NONE)
