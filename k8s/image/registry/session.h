// SPDX-License-Identifier: MIT
// A conversation with one registry about one repository: whom to trust, how we log in, and what a
// refusal means. The caller owns everything; a session borrows its remote. The functions block;
// call them on another thread than the loop's.
// Sources: distribution-spec spec.md, distribution docs/content/spec/auth/token.md.
#pragma once
#include "k8s/image/oci.h"
#include "k8s/net/http.h"

struct image_remote {
    http *http;
    canceller *canceller;
    int64_t deadline;            // clock_mono() ns, 0: none
    const char *host;            // "HOST[:PORT]"
    bool plain;                  // http: instead of https:
    bool insecure;               // https: without verification, else http:, as docker takes it
    const http_tls *tls;         // NULL: the system's authorities
    const char *ca_from;         // where its authority is from, for messages; NULL: the system
    const char *user, *password; // for Basic, and to fetch a token; NULL: anonymous
    const char *identity;        // a token to fetch tokens with, in place of a password; NULL: none
    const char *login_from;      // whose it is, or why there is none, for messages; NULL
    const char *token;           // a bearer token to start with; NULL: none
    const char *proxy;           // as in http_request; NULL: none
    // Told once a session, in words for people, when the login goes to another host than the
    // registry: its token server. NULL: nobody.
    void (*told)(void *arg, const char *words);
    void *told_arg;
};

struct image_session {
    const struct image_remote *remote;
    const char *name;       // of the repository
    const char *mount_from; // another one that is read, too; NULL: none
    const char *actions;    // "pull" or "pull,push"
    buf authorization;      // "Authorization: …"; empty: none yet
    bool plain;             // the transport is http:
    bool settled;           // it was answered once on this transport
    int busy;               // how often in a row it has answered that it is busy
    bool told;              // where the login goes
};
struct image_session image_session_begin(
    const struct image_remote *r, const char *name, const char *actions);
void image_session_end(struct image_session *s);

// A request of a session. `fd` is the body when it is not -1.
struct image_step {
    const char *method;
    const char *url; // absolute, or a path on the registry
    const char *content_type, *accept, *range;
    const void *body;
    int64_t body_n;
    int fd;
    int64_t offset; // where the next bytes are in fd
    // Told of bytes of fd that are sent, less than 0 when they are sent again; may be NULL.
    void (*sent)(void *arg, int64_t n);
    void *sent_arg;
    // Takes a successful body as it comes, on the loop's thread; NULL: it is kept.
    int (*sink)(void *arg, const char *bytes, size_t n, err *e);
    void *sink_arg;
};
// Sends a request, with credentials once the registry asks for them. They go only to the registry's
// own host and its token server. The first request of a session also finds the transport. A
// registry that is busy (429, 503) is asked again, when it says (Retry-After) or after a while.
// Errors name the remedy: ERR_UNAUTHORIZED, ERR_UNAVAILABLE, ERR_FAILED …
int image_exchange(
    struct image_session *s, struct image_step *step, struct http_response *r, err *e);
// Is there a registry, and does it accept us? Here an absent one is an error at once.
int image_greet(struct image_session *s, err *e);
// The error for an answer that is not what was asked for. what: "an upload".
int image_refused(
    const struct image_session *s, const char *what, const struct http_response *r, err *e);
