// SPDX-License-Identifier: MIT
#include "base/os/filestate.h"

#include "base/mem.h"

#include <stdint.h>
#include <sys/stat.h>

void filestate_key(const char *path, const struct stat *st, buf *key)
{
    const struct {
        uint64_t device, node;
        int64_t size, seconds, nanoseconds;
    } state = {st->st_dev, st->st_ino, st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec};
    buf_add(key, &state, sizeof state);
    buf_str(key, path);
}

bool filestate_add(hashmap *set, const char *path, const struct stat *st)
{
    AUTO_BUF key = {0};
    size_t before;
    filestate_key(path, st, &key);
    if (hashmap_get(set, key.data, key.len, &before))
        return false;
    hashmap_set(set, key.data, key.len, 1);
    return true;
}
