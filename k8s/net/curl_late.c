// SPDX-License-Identifier: MIT
// libcurl, which needs Kerberos, LDAP, SSH and more libraries: the first `http` loads it
// (base/os/late.h).
#define CURL_DISABLE_TYPECHECK
#include "base/os/late.h"
#include "k8s/net/private.h"

#include <curl/curl.h>
#include <stdarg.h>

#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

// CURLU *, and in later versions const CURLU *.
typedef __typeof__(_Generic(
    &curl_url_get, CURLUcode (*)(const CURLU *, CURLUPart, char **, unsigned)
    : (const CURLU *)NULL, default
    : (CURLU *)NULL)) url_handle;

#define FUNCTIONS(X)                                                                               \
    X(void, curl_easy_cleanup, (CURL * a), (a))                                                    \
    X(CURL *, curl_easy_init, (void), ())                                                          \
    X(CURLcode, curl_easy_pause, (CURL * a, int b), (a, b))                                        \
    X(CURLcode, curl_easy_recv, (CURL * a, void *b, size_t c, size_t *d), (a, b, c, d))            \
    X(CURLcode, curl_easy_send, (CURL * a, const void *b, size_t c, size_t *d), (a, b, c, d))      \
    X(const char *, curl_easy_strerror, (CURLcode a), (a))                                         \
    X(void, curl_free, (void *a), (a))                                                             \
    X(void, curl_global_cleanup, (void), ())                                                       \
    X(CURLcode, curl_global_init, (long a), (a))                                                   \
    X(CURLMcode, curl_multi_add_handle, (CURLM * a, CURL * b), (a, b))                             \
    X(CURLMcode, curl_multi_assign, (CURLM * a, curl_socket_t b, void *c), (a, b, c))              \
    X(CURLMcode, curl_multi_cleanup, (CURLM * a), (a))                                             \
    X(CURLMsg *, curl_multi_info_read, (CURLM * a, int *b), (a, b))                                \
    X(CURLM *, curl_multi_init, (void), ())                                                        \
    X(CURLMcode, curl_multi_remove_handle, (CURLM * a, CURL * b), (a, b))                          \
    X(CURLMcode, curl_multi_socket_action, (CURLM * a, curl_socket_t b, int c, int *d),            \
        (a, b, c, d))                                                                              \
    X(struct curl_slist *, curl_slist_append, (struct curl_slist * a, const char *b), (a, b))      \
    X(void, curl_slist_free_all, (struct curl_slist * a), (a))                                     \
    X(CURLU *, curl_url, (void), ())                                                               \
    X(void, curl_url_cleanup, (CURLU * a), (a))                                                    \
    X(CURLUcode, curl_url_get, (url_handle a, CURLUPart b, char **c, unsigned d), (a, b, c, d))    \
    X(CURLUcode, curl_url_set, (CURLU * a, CURLUPart b, const char *c, unsigned d), (a, b, c, d))  \
    X(curl_version_info_data *, curl_version_info, (CURLversion a), (a))

#define VARIADIC(X)                                                                                \
    X(CURLcode, curl_easy_getinfo, , )                                                             \
    X(CURLcode, curl_easy_setopt, , )                                                              \
    X(CURLMcode, curl_multi_setopt, , )

LATE_LIBRARY(curl, CURL_SONAME, "libcurl3-gnutls", FUNCTIONS, VARIADIC)

// An option's number tells the type of its argument (curl.h: CURLOPTTYPE_LONG, _OFF_T; else a
// pointer to something).
#define PASS_ON(set, handle, option)                                                               \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, option);                                                                    \
        __typeof__(set(handle, option)) status;                                                    \
        if (option < CURLOPTTYPE_OBJECTPOINT)                                                      \
            status = set(handle, option, va_arg(args, long));                                      \
        else if (option >= CURLOPTTYPE_OFF_T && option < CURLOPTTYPE_BLOB)                         \
            status = set(handle, option, va_arg(args, curl_off_t));                                \
        else                                                                                       \
            status = set(handle, option, va_arg(args, void *));                                    \
        va_end(args);                                                                              \
        return status;                                                                             \
    } while (0)

CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
    PASS_ON(late_functions.curl_easy_setopt, easy, option);
}

CURLMcode curl_multi_setopt(CURLM *multi, CURLMoption option, ...)
{
    PASS_ON(late_functions.curl_multi_setopt, multi, option);
}

CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...)
{
    va_list args;
    va_start(args, info);
    CURLcode status = late_functions.curl_easy_getinfo(easy, info, va_arg(args, void *));
    va_end(args);
    return status;
}
