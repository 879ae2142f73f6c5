// SPDX-License-Identifier: MIT
// Files and trees as tar streams through a descriptor, as `kubectl cp` sends and takes them. They
// block: call them on a thread of their own. Nothing is owned; the descriptors stay the caller's.
#pragma once
#include "base/err.h"

#include <stdint.h>

struct treetar_told {
    int64_t files, bytes; // regular files, and what is in them
    int64_t taken;        // files, folders and links
    int left_out;         // devices, sockets, and links that lead out of the tree
    char first[256];      // the first of these, for people
};
// Counts one that is left out.
void treetar_leave_out(struct treetar_told *told, const char *path);

// Writes the file or tree `source` by the name `name` ("data", "a/b"). Links stay links.
// ERR_FAILED: nothing was written.
int treetar_write(int fd, const char *source, const char *name, struct treetar_told *told, err *e);
// Takes what stands in the stream at and below `name` ("." for all), as `target`, whose folder is
// made; a file goes into a `target` that is a folder, which may be reached through links. Nothing
// is written outside of the target, whatever the stream says: a name with "..", one beside `name`,
// and one below a link of the stream are errors. Whether a link leads out is decided when the whole
// stream is known; one that does is left out. A link that was there is never replaced nor written
// through: ERR_EXISTS. Folders that were there keep their modes; owners are the caller's, modes
// have no set-uid bits. Errors: also ERR_NOT_FOUND, when there is nothing by that name; ERR_FAILED:
// nothing was copied.
int treetar_read(int fd, const char *name, const char *target, struct treetar_told *told, err *e);
