// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/tls.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <gnutls/x509.h>
#include <string.h>
#include <time.h>

enum { TEN_YEARS = 10 * 365 * 24 * 3600, HOUR = 3600 };

// A key pair, with the certificate that is made for it.
struct party {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;
};

static void party_done(struct party *p)
{
    gnutls_x509_crt_deinit(p->crt);
    gnutls_x509_privkey_deinit(p->key);
}

static int party_init(struct party *p, const char *name, time_t now)
{
    unsigned char serial[16];
    random_bytes(serial, sizeof serial);
    serial[0] = (serial[0] & 0x7f) | 0x40; // positive, and of full length
    int r = gnutls_x509_privkey_init(&p->key);
    if (r < 0 || (r = gnutls_x509_crt_init(&p->crt)) < 0 ||
        (r = gnutls_x509_privkey_generate(
             p->key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0)) < 0 ||
        (r = gnutls_x509_crt_set_version(p->crt, 3)) < 0 ||
        (r = gnutls_x509_crt_set_serial(p->crt, serial, sizeof serial)) < 0 ||
        (r = gnutls_x509_crt_set_key(p->crt, p->key)) < 0 ||
        (r = gnutls_x509_crt_set_dn_by_oid(
             p->crt, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned)strlen(name))) < 0 ||
        (r = gnutls_x509_crt_set_activation_time(p->crt, now - HOUR)) < 0)
        return r;
    return gnutls_x509_crt_set_expiration_time(p->crt, now + TEN_YEARS);
}

static int set_key_ids(struct party *p, const struct party *issuer)
{
    unsigned char id[64];
    size_t n = sizeof id;
    int r = gnutls_x509_crt_get_key_id(p->crt, 0, id, &n);
    if (r < 0 || (r = gnutls_x509_crt_set_subject_key_id(p->crt, id, n)) < 0)
        return r;
    n = sizeof id;
    if ((r = gnutls_x509_crt_get_key_id(issuer->crt, 0, id, &n)) < 0)
        return r;
    return gnutls_x509_crt_set_authority_key_id(p->crt, id, n);
}

static int make_authority(struct party *ca)
{
    int r = gnutls_x509_crt_set_basic_constraints(ca->crt, 1, 0);
    if (r < 0 || (r = gnutls_x509_crt_set_key_usage(ca->crt, GNUTLS_KEY_KEY_CERT_SIGN)) < 0 ||
        (r = set_key_ids(ca, ca)) < 0)
        return r;
    return gnutls_x509_crt_sign2(ca->crt, ca->crt, ca->key, GNUTLS_DIG_SHA256, 0);
}

static int make_server(struct party *server, const struct party *ca)
{
    struct in_addr four = {htonl(INADDR_LOOPBACK)};
    struct in6_addr six = IN6ADDR_LOOPBACK_INIT;
    gnutls_x509_crt_t crt = server->crt;
    int r = gnutls_x509_crt_set_basic_constraints(crt, 0, -1);
    if (r < 0 || (r = gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE)) < 0 ||
        (r = gnutls_x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_SERVER, 0)) < 0 ||
        (r = gnutls_x509_crt_set_subject_alt_name(
             crt, GNUTLS_SAN_DNSNAME, "localhost", 9, GNUTLS_FSAN_SET)) < 0 ||
        (r = gnutls_x509_crt_set_subject_alt_name(
             crt, GNUTLS_SAN_IPADDRESS, &four, sizeof four, GNUTLS_FSAN_APPEND)) < 0 ||
        (r = gnutls_x509_crt_set_subject_alt_name(
             crt, GNUTLS_SAN_IPADDRESS, &six, sizeof six, GNUTLS_FSAN_APPEND)) < 0 ||
        (r = set_key_ids(server, ca)) < 0)
        return r;
    return gnutls_x509_crt_sign2(crt, ca->crt, ca->key, GNUTLS_DIG_SHA256, 0);
}

// GnuTLS uses its own allocator; callers free with ours.
static char *take_pem(int r, gnutls_datum_t *d, int *result)
{
    if (r < 0) {
        *result = r;
        return NULL;
    }
    char *text = mem_strndup((const char *)d->data, d->size);
    gnutls_free(d->data);
    return text;
}

static int export(struct tls *t, const struct party *ca, const struct party *server)
{
    gnutls_datum_t d;
    int result = 0;
    t->ca = take_pem(gnutls_x509_crt_export2(ca->crt, GNUTLS_X509_FMT_PEM, &d), &d, &result);
    t->certificate =
        take_pem(gnutls_x509_crt_export2(server->crt, GNUTLS_X509_FMT_PEM, &d), &d, &result);
    t->key =
        take_pem(gnutls_x509_privkey_export2(server->key, GNUTLS_X509_FMT_PEM, &d), &d, &result);
    return result;
}

int tls_make(struct tls *t, int64_t now, err *e)
{
    time_t seconds = (time_t)(now / CLOCK_SEC);
    struct party ca = {0}, server = {0};
    *t = (struct tls){0};
    int r = party_init(&ca, "firesteel-sandbox-ca", seconds);
    if (r >= 0 && (r = party_init(&server, "firesteel-sandbox", seconds)) >= 0 &&
        (r = make_authority(&ca)) >= 0 && (r = make_server(&server, &ca)) >= 0)
        r = export(t, &ca, &server);
    party_done(&ca);
    party_done(&server);
    if (r >= 0)
        return 0;
    tls_done(t);
    return err_set(e, ERR_FAILED, "cannot make a certificate: %s", gnutls_strerror(r));
}

void tls_done(struct tls *t)
{
    free(t->ca);
    free(t->certificate);
    free(t->key);
    *t = (struct tls){0};
}
