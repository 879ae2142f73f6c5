// SPDX-License-Identifier: MIT
// The lock of a document with any content: either somebody has it, or we can take it, and then it
// is ours.
#include "script/journal/file/lock.h"
#include "base/str.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO_FREE char *hidden = path_join(fuzz_folder(), ".firesteel");
    AUTO_FREE char *document = path_join(fuzz_folder(), "n.lua");
    struct lock_holder who, me = {.run = (char *)"r", .cwd = (char *)fuzz_folder()};
    err e;
    if (path_make_dirs(hidden, 0700, &e) != 0)
        abort();
    AUTO_FREE char *path = fuzz_file(".firesteel/n.lua.lock", data, n);
    bool held = document_lock_holder(document, fuzz_folder(), &who);
    if (held && (!who.host || !who.cwd || !who.pid))
        abort();
    if (held)
        lock_holder_done(&who);
    document_lock *l = document_lock_take(document, &me, &e);
    if (held ? l != NULL || e.code != ERR_CONFLICT : !l || !document_lock_is_of(l, document))
        abort();
    if (l && (!document_lock_holder(document, fuzz_folder(), &who) || who.pid != getpid()))
        abort();
    if (l)
        lock_holder_done(&who);
    document_lock_release(l);
    if (path_exists(path) != held)
        abort();
    return 0;
}
