// SPDX-License-Identifier: MIT
// Dockerfiles: parses one, and builds it without a daemon if it needs no RUN. The caller owns texts
// and results; a `dockerfile` owns its steps. Source: docker's reference, "Dockerfile", and
// BuildKit, with which tests/wire compares.
//   stage 1   FROM base AS build   a draft per stage, a layer for each COPY and ADD
//   stage 2   FROM …               COPY --from=build reads the unpacked stage
#pragma once
#include "k8s/image/programs/build.h"

struct dockerfile_step {
    int line;     // where it begins
    char *name;   // "COPY"
    char **flags; // "--from=build"; ended by NULL
    char *rest;   // the text after it, continued lines joined, without blanks around it
    bool here;    // with a here-document
};
struct dockerfile {
    struct dockerfile_step *steps;
    size_t n;
    char escape; // "\\", or "`" if the file says so
};
// Errors: ERR_INVALID begins with the line's number: "7: …".
int dockerfile_parse(const char *text, struct dockerfile *d, err *e);
void dockerfile_done(struct dockerfile *d);
// The first step that cannot be done here (RUN, …); NULL: none.
const struct dockerfile_step *dockerfile_foreign(const struct dockerfile *d);

// Expands variables. lookup returns the value of "$NAME", or NULL if it is not set.
struct dockerfile_values {
    const char *(*lookup)(void *arg, const char *name);
    void *arg;
    size_t left; // bytes that expanded values may still have, or 0: too many already
    char escape; // 0: a backslash
};
// The limit for one file: a value that contains another one twice, ten times over, would grow
// without bounds.
#define DOCKERFILE_VALUES_MOST ((size_t)1 << 20)
// Expands a text as BuildKit does: without quotes and escapes, with $NAME, ${NAME}, ${NAME:-word}
// (also + and ?), ${NAME#pattern} (## % %%), ${NAME/pattern/word} (//). New; NULL on an error.
// Errors: also ERR_LIMIT.
char *dockerfile_text(const char *text, struct dockerfile_values *values, err *e);
// The words of a text as written, with their quotes. New, NULL-terminated.
char **dockerfile_split(const char *text, char escape);
// The same, expanded. A value is not split into words.
int dockerfile_words(const char *text, struct dockerfile_values *values, char ***words, err *e);

struct dockerfile_build {
    const char *name;        // of the file, for errors
    const char *context;     // the folder that COPY reads
    const char *ignore;      // text of the file's own ignore file; NULL: uses the context's
    const char *const *args; // "NAME=value", ended by NULL; may be NULL
    const char *target;      // the stage to build; NULL: the last one
    const char *tag;         // "NAME[:TAG]"
    int64_t created;         // as in image_build
    const char *temp;        // a folder for unpacked stages, which the caller removes
    // Called for each file that is copied from the context; NULL: nothing.
    const struct layer_told *added;
    const struct work_watch *watch; // its parts are the steps; NULL: none
    // Gets an image that a step names into the store.
    int (*need)(void *arg, const char *ref, err *e);
    void *arg;
};
// Builds and tags the image. Errors name the file and the line.
int dockerfile_run(const image_store *s, const struct dockerfile *d,
    const struct dockerfile_build *b, struct image_built *out, err *e);
// An image that FROM or --from names.
struct dockerfile_image {
    char *said; // as it stands in the file: "python:$VERSION"
    char *name; // with what arguments say: "python:3.11"
};
// The images that the file names, each once, without its own stages and scratch. New: call
// dockerfile_images_free. Errors name the file and the line.
int dockerfile_images(const struct dockerfile *d, const struct dockerfile_build *b,
    struct dockerfile_image **images, size_t *n, err *e);
void dockerfile_images_free(struct dockerfile_image *images, size_t n);
