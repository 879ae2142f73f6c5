// SPDX-License-Identifier: MIT
// Files into and out of a container, by tar there and libarchive here, as `kubectl cp` does. The
// functions block; call them on another thread than the loop's. Nothing is owned.
#pragma once
#include "k8s/image/treetar.h"
#include "script/api/pods/pod.h"

struct copying {
    loop *loop;
    const struct pod_choice *pod;
    const struct patience *patience;
    const char *here;  // an absolute path
    const char *there; // a path in the container
    struct work *work; // counts the bytes of the stream; NULL: nobody does
};
// A folder that is there takes what is copied into it. Errors: ERR_NOT_FOUND when nothing is here,
// ERR_FAILED with the words of the container's tar.
int copying_up(const struct copying *w, struct treetar_told *told, err *e);
int copying_down(const struct copying *w, struct treetar_told *told, err *e);
// A line about what was no file, folder or link inside; new, NULL: nothing was left out.
char *copying_left_out(const struct treetar_told *told);
