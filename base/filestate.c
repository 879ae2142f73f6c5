// SPDX-License-Identifier: MIT
#include "base/filestate.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdint.h>
#include <sys/stat.h>

bool filestate_add(hashmap *set, const char *path, const struct stat *st)
{
    const struct {
        uint64_t device, node;
        int64_t size, seconds, nanoseconds;
    } state = {st->st_dev, st->st_ino, st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec};
    AUTO_BUF key = {0};
    size_t before;
    buf_add(&key, &state, sizeof state);
    buf_str(&key, path);
    if (hashmap_get(set, key.data, key.len, &before))
        return false;
    hashmap_set(set, key.data, key.len, 1);
    return true;
}
