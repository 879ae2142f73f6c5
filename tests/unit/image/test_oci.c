// SPDX-License-Identifier: MIT
#include "k8s/image/oci.h"
#include "tests/support/tap.h"

#define DIGEST "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

TEST(digests)
{
    oci_digest d;
    err e = {0};
    CHECK_OK(oci_digest_parse(DIGEST, &d, &e) == 0, e);
    oci_digest empty = oci_digest_of("", 0);
    CHECK(oci_digest_equal(&d, &empty));
    CHECK_STR(oci_digest_hex(&d), &DIGEST[7]);
    const char *const bad[] = {"", "sha256:", "sha512:abc", DIGEST "0",
        "sha256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855",
        "sha256:../../../../etc/passwd0000000000000000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(oci_digest_parse(bad[i], &d, &e), -1);
    CHECK_INT(oci_digest_parse(NULL, &d, &e), -1);
}

static void check_ref(
    const char *text, const char *host, const char *name, const char *tag, const char *digest)
{
    oci_ref r;
    err e = {0};
    CHECK_OK(oci_ref_parse(text, &r, &e) == 0, e);
    CHECK_STR(r.host, host);
    CHECK_STR(r.name, name);
    CHECK_STR(r.tag, tag);
    CHECK_STR(r.digest, digest);
    oci_ref_done(&r);
}

TEST(references)
{
    check_ref("mnist", NULL, "mnist", NULL, NULL);
    check_ref("firesteel/mnist:latest", NULL, "firesteel/mnist", "latest", NULL);
    check_ref("localhost/a", "localhost", "a", NULL, NULL);
    check_ref("127.0.0.1:5000/a/b:1.0", "127.0.0.1:5000", "a/b", "1.0", NULL);
    check_ref("example.org/a@" DIGEST, "example.org", "a", NULL, DIGEST);
    check_ref("a__b/c--d.e:_x@" DIGEST, NULL, "a__b/c--d.e", "_x", DIGEST);
}

TEST(references_that_are_none)
{
    const char *const bad[] = {"", ":", "A", "a/", "/a", "a//b", "a:", "a:-x", "a@sha256:0", "a b",
        "a..b", "a___b", "../etc", "a/../b", "example.org/", "a:b:c"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        oci_ref r;
        err e = {0};
        if (oci_ref_parse(bad[i], &r, &e) == 0)
            tap_fail(__FILE__, __LINE__, "“%s” was taken", bad[i]);
        CHECK_HAS(e.text, "is not the name of an image");
    }
}

static int parse(const char *text, oci_manifest *m, err *e)
{
    return oci_manifest_parse(text, strlen(text), m, e);
}

#define CONFIG                                                                                     \
    "\"config\":{\"mediaType\":\"application/vnd.oci.image.config.v1+json\",\"digest\":\"" DIGEST  \
    "\",\"size\":0}"

TEST(manifests)
{
    oci_manifest m;
    err e = {0};
    CHECK_OK(parse("{\"schemaVersion\":2," CONFIG
                   ",\"layers\":[{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar\","
                   "\"digest\":\"" DIGEST "\",\"size\":12345678901}]}",
                 &m, &e) == 0,
        e);
    CHECK_INT(m.layer_n, 1);
    CHECK_INT(m.layers[0].size, 12345678901);
    CHECK_INT(m.layers[0].type, OCI_TYPE_OCI_LAYER);
    oci_manifest_done(&m);
}

TEST(manifests_that_are_none)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "image manifest"},
        {"[]", "schemaVersion"},
        {"{\"schemaVersion\":1}", "schemaVersion is not 2"},
        {"{\"schemaVersion\":2}", "config"},
        {"{\"schemaVersion\":2," CONFIG "}", "“layers” is not a list"},
        {"{\"schemaVersion\":2," CONFIG ",\"layers\":[1]}", "layer 1"},
        {"{\"schemaVersion\":2," CONFIG ",\"layers\":[{\"mediaType\":\"a/b\"}]}", "a/b"},
        {"{\"schemaVersion\":2,\"manifests\":[]}", "index of several images"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        oci_manifest m;
        err e = {0};
        CHECK_INT(parse(bad[i].text, &m, &e), -1);
        CHECK_HAS(e.text, bad[i].why);
    }
}

static void check_registry(const char *text, const char *host, const char *prefix, bool plain)
{
    err e = {0};
    oci_registry r;
    CHECK_OK(oci_registry_parse(text, &r, &e) == 0, e);
    CHECK_STR(r.host, host);
    CHECK_STR(r.prefix, prefix);
    CHECK_INT(r.plain, plain);
    oci_registry_done(&r);
}

TEST(registries)
{
    check_registry("r.example", "r.example", NULL, false);
    check_registry("r.example:5000/team/a/", "r.example:5000", "team/a", false);
    check_registry("http://10.0.0.5:5000", "10.0.0.5:5000", NULL, true);
    check_registry("https://localhost/x", "localhost", "x", false);
    const char *const bad[] = {"", "team", "http://", "r.example/Team", "r.example//x", "a b.c"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err e = {0};
        oci_registry r;
        CHECK_INT(oci_registry_parse(bad[i], &r, &e), -1);
        CHECK_INT(e.code, ERR_USAGE);
    }
}

int main(void)
{
    return tap_run();
}
