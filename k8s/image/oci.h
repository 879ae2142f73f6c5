// SPDX-License-Identifier: MIT
// The terms of OCI images: digests, descriptors, references, manifests. They are plain values that
// own nothing, except where noted. Input from outside is checked before it becomes one of them.
// Sources: image-spec descriptor.md, manifest.md, config.md; distribution-spec spec.md.
#pragma once
#include "base/err.h"
#include "base/json/json.h"

#include <stdbool.h>
#include <stdint.h>

// "sha256:" and 64 lower-case hexadecimal digits; no other algorithm is used.
enum { OCI_DIGEST_SIZE = 72 };
typedef struct oci_digest {
    char text[OCI_DIGEST_SIZE];
} oci_digest;

// Parses n bytes of text that must be a digest. Errors: ERR_INVALID quotes the text.
int oci_digest_parse(const char *text, oci_digest *d, err *e);
oci_digest oci_digest_of(const void *bytes, size_t n);
bool oci_digest_equal(const oci_digest *a, const oci_digest *b);
// The 64 digits of the digest.
const char *oci_digest_hex(const oci_digest *d);

// The media types that we read; we write the first one of each kind.
//  X(name, text, kind)
#define OCI_TYPES(X)                                                                               \
    X(OCI_MANIFEST, "application/vnd.oci.image.manifest.v1+json", MANIFEST)                        \
    X(DOCKER_MANIFEST, "application/vnd.docker.distribution.manifest.v2+json", MANIFEST)           \
    X(OCI_INDEX, "application/vnd.oci.image.index.v1+json", INDEX)                                 \
    X(DOCKER_INDEX, "application/vnd.docker.distribution.manifest.list.v2+json", INDEX)            \
    X(OCI_CONFIG, "application/vnd.oci.image.config.v1+json", CONFIG)                              \
    X(DOCKER_CONFIG, "application/vnd.docker.container.image.v1+json", CONFIG)                     \
    X(OCI_LAYER_GZIP, "application/vnd.oci.image.layer.v1.tar+gzip", LAYER)                        \
    X(OCI_LAYER, "application/vnd.oci.image.layer.v1.tar", LAYER)                                  \
    X(OCI_LAYER_ZSTD, "application/vnd.oci.image.layer.v1.tar+zstd", LAYER)                        \
    X(DOCKER_LAYER, "application/vnd.docker.image.rootfs.diff.tar.gzip", LAYER)
enum oci_type {
#define X(name, text, kind) OCI_TYPE_##name,
    OCI_TYPES(X)
#undef X
        OCI_TYPE_UNKNOWN
};
enum oci_kind {
    OCI_KIND_UNKNOWN,
    OCI_KIND_MANIFEST,
    OCI_KIND_INDEX,
    OCI_KIND_CONFIG,
    OCI_KIND_LAYER
};
enum oci_type oci_type_parse(const char *media_type); // NULL gives "unknown"
const char *oci_type_text(enum oci_type t);
enum oci_kind oci_type_kind(enum oci_type t);

// This machine's name in images (Go's GOARCH).
#if defined __x86_64__
#define OCI_ARCHITECTURE "amd64"
#elif defined __aarch64__
#define OCI_ARCHITECTURE "arm64"
#elif defined __riscv
#define OCI_ARCHITECTURE "riscv64"
#elif defined __powerpc64__
#define OCI_ARCHITECTURE "ppc64le"
#elif defined __s390x__
#define OCI_ARCHITECTURE "s390x"
#endif

// The most bytes of a blob: the sum of a manifest's fits into int64_t.
#define OCI_SIZE_MOST ((int64_t)1 << 40)

// What a manifest says about a blob.
typedef struct oci_descriptor {
    enum oci_type type;
    oci_digest digest;
    int64_t size;
} oci_descriptor;

int oci_descriptor_parse(const cJSON *json, oci_descriptor *d, err *e);
cJSON *oci_descriptor_json(const oci_descriptor *d);

// The manifest of one image: its config and its layers, those of the base first.
typedef struct oci_manifest {
    oci_descriptor config;
    oci_descriptor *layers;
    size_t layer_n;
} oci_manifest;
void oci_manifest_done(oci_manifest *m);
// Errors: ERR_INVALID: the text says what is wrong; an index is an error, too ("… is an index of
// several images").
int oci_manifest_parse(const void *bytes, size_t n, oci_manifest *m, err *e);

// The bytes of all its blobs.
int64_t oci_manifest_bytes(const oci_manifest *m);
// Takes this machine's image out of an index. ERR_NOT_FOUND lists what it has.
int oci_index_choose(const cJSON *index, oci_descriptor *d, err *e);

// A name of an image as people write it: [HOST[:PORT]/]NAME[:TAG][@DIGEST]. The first part is a
// host when it has a dot or a colon, or is "localhost" (docker's rule).
typedef struct oci_ref {
    char *host;   // NULL: none was written
    char *name;   // "firesteel/mnist"
    char *tag;    // NULL: none was written; the caller decides on "latest"
    char *digest; // NULL: none was written
} oci_ref;
void oci_ref_done(oci_ref *r);
int oci_ref_parse(const char *text, oci_ref *r, err *e);
// The registry for images without a host: [http://|https://]HOST[:PORT][/PREFIX].
typedef struct oci_registry {
    char *host;
    char *prefix; // prefix of names there; NULL: none
    bool plain;   // http:// was written
} oci_registry;
void oci_registry_done(oci_registry *r);
// Errors: ERR_USAGE; also for a host without a dot and a port, which container tools take for a
// name on Docker Hub.
int oci_registry_parse(const char *text, oci_registry *r, err *e);
// Do they match the grammar of distribution-spec (pulling manifests)?
bool oci_name_valid(const char *name);
bool oci_tag_valid(const char *tag);
