// SPDX-License-Identifier: MIT
// The images of this machine: one OCI image layout folder that several processes share.
// Whoever opened an image_store owns it. It keeps no state but its folder's name, so several
// threads may use it. Whoever began a blob owns the writer.
//
//   DIR/oci-layout                 {"imageLayoutVersion": "1.0.0"}
//   DIR/index.json                 manifests, tagged by org.opencontainers.image.ref.name
//   DIR/blobs/sha256/HEX           content, each file whole or absent (fsync, rename)
//   DIR/.firesteel/lock            flock: exclusive to change the index
//   DIR/.firesteel/upload-XXXXXX   blobs that are being written
//   DIR/.firesteel/partial-HEX     blobs that are being fetched, locked by who does it
//   DIR/.firesteel/layers/KEY      digests of a layer, by a hash of what it was made of
//   DIR/.firesteel/names/HEX       folders and links of a layer (places.h)
//
// Tags here are "NAME:TAG" without a host: "firesteel/mnist:latest". Other tools that read layouts
// see only the first three.
#pragma once
#include "base/buf.h"
#include "k8s/image/oci.h"

typedef struct image_store image_store;
// Opens the folder; makes it, and what is missing in it. Errors: ERR_CORRUPT when it holds
// something else than a layout.
image_store *image_store_open(const char *dir, err *e);
void image_store_free(image_store *s);
const char *image_store_dir(const image_store *s);

// Does the store have the blob? Stores its size (NULL: not wanted), and tells the collector that
// the blob is in use.
bool image_store_has(const image_store *s, const oci_digest *d, int64_t *size);
// Does the store have what a manifest says? 1; 0: it has no such blob; -1: one of another size.
int image_store_look(const image_store *s, const oci_descriptor *d, err *e);
// A descriptor of the blob's file, which the caller must close(); ERR_NOT_FOUND.
int image_store_blob(const image_store *s, const oci_digest *d, int64_t *size, err *e);
char *image_store_blob_path(const image_store *s, const oci_digest *d);
// Reads a whole small blob and verifies its digest: ERR_CORRUPT, ERR_LIMIT.
int image_store_read(const image_store *s, const oci_digest *d, buf *out, size_t limit, err *e);
// Parses the JSON of a small blob.
cJSON *image_store_read_json(const image_store *s, const oci_digest *d, err *e);

// A blob that is being written. Nobody sees it before the commit.
typedef struct image_blob image_blob;
image_blob *image_blob_new(const image_store *s, err *e);
int image_blob_write(image_blob *b, const void *bytes, size_t n, err *e);
int64_t image_blob_size(const image_blob *b);
// A blob whose digest is known beforehand, with what earlier writers have left of it: their bytes
// are kept until the commit. While another process writes it, this is a blob of its own.
image_blob *image_blob_resume(const image_store *s, const oci_digest *d, err *e);
int image_blob_restart(image_blob *b, err *e); // drops the bytes that it has
// Puts the blob into the store. Ends the writer, also on an error. expected: NULL, or the digest
// that the blob must have (else ERR_INVALID). *d may be NULL.
int image_blob_commit(image_blob *b, const oci_digest *expected, oci_digest *d, err *e);
void image_blob_free(image_blob *b); // drops the blob, or keeps its bytes; NULL is fine
int image_store_add(const image_store *s, const void *bytes, size_t n, oci_digest *d, err *e);

// Waits for the exclusive lock of the store; close() of the descriptor releases it.
int image_store_lock(const image_store *s, err *e);
