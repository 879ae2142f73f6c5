// SPDX-License-Identifier: MIT
// A Dockerfile that is being built, stage by stage. Private to dockerbuild.c, which does its steps
// and owns it, and dockercopy.c, which does COPY and ADD.
#pragma once
#include "k8s/image/dockerfile/context.h"
#include "k8s/image/dockerfile/dockerfile.h"
#include "k8s/image/programs/draft.h"

struct stage {
    char *name; // NULL: none was given
    struct draft draft;
    cJSON *args;  // {NAME: value} that the stage has declared
    char **known; // folders that are in the image for sure
    bool has_base, cmd;
    oci_descriptor manifest; // of the finished stage
    struct context root;     // where it is unpacked; not open: nowhere yet
};

struct building {
    const image_store *store;
    const struct dockerfile_build *options;
    struct context context;
    char **ignore;  // what stays out of the context
    cJSON *globals; // ARGs before the first FROM
    struct dockerfile_values values;
    struct stage *stages;
    size_t n;
    const struct dockerfile_step *step; // that is being done
    size_t new_layers;
    bool cached; // the step has made a layer that was there already
};

// The stage whose steps are being done; NULL before the first.
struct stage *building_stage(const struct building *b);
// A stage by its name or number, of those before `before`; NULL: there is none.
struct stage *building_find(struct building *b, const char *name, size_t before);
// The value of an option of a step, as "--from"; NULL: it is not given.
const char *building_flag(const struct dockerfile_step *s, const char *name);
// From now on the folder is in the image for sure.
void building_know(struct stage *s, const char *dir);
// A place in the image: absolute, without ".", ".." and "//"; new. ".." of the root is the root.
char *building_place(struct stage *s, const char *path);
// The same of a path that is below the root.
char *building_clean(const char *path);
// COPY and ADD, as the step says; `words` are what follows its options.
int building_copy(struct building *b, char *const *words, err *e);
