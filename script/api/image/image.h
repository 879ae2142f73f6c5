// SPDX-License-Identifier: MIT
// Shared by the image bindings. Private to script/api/image/*.c.
#pragma once
#include "base/mem.h"
#include "k8s/image/programs/build.h"
#include "script/kernel/effects/binding.h"

image_store *image_open_store(call *c, err *e);
static inline void image_store_free_at(image_store **s)
{
    image_store_free(*s);
}
#define AUTO_STORE CLEANUP(image_store_free_at) image_store
// Removes blobs to which nothing leads, after a day: otherwise the store would grow with every
// build.
void image_tidy(const image_store *s);
// Records the files that an image is built of as inputs of the cell: the first 1,000 of a build.
struct image_inputs {
    call *call;
    size_t n;
    struct layer_told told;  // what a builder is given
    struct work work;        // how far the build is …
    struct work_watch watch; // … which a builder is given, too
};
// what: "build mnist:latest", borrowed; noun: of its parts. image_inputs_done ends its work.
void image_inputs_init(struct image_inputs *in, call *c, const char *what, const char *noun);
void image_inputs_done(struct image_inputs *in);
void image_record_input(void *inputs, const char *path, int64_t size, const char hex[SHA256_HEX]);
// ns: how long it took.
void image_tell_built(call *c, const struct image_built *built, int64_t ns);
// {ref, digest, size, layers: [{digest, size}]}
cJSON *image_build_result(const struct image_built *built);

// image.dockerfile {dockerfile, context?, args?, target?, tag, created?} -> as image.build
int image_dockerfile(call *c, const cJSON *args, cJSON **result, err *e);
