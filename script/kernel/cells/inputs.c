// SPDX-License-Identifier: MIT
#include "script/kernel/cells/inputs.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/filestate.h"
#include "base/mem.h"

#include <sys/stat.h>

enum { DIGESTED_MAX = 16 << 20 };

struct inputs {
    hashmap *taken; // path and identity of those that are recorded
};

inputs *inputs_new(void)
{
    inputs *in = mem_alloc(sizeof *in);
    in->taken = hashmap_new();
    return in;
}

void inputs_free(inputs *in)
{
    if (!in)
        return;
    hashmap_free(in->taken);
    free(in);
}

void inputs_forget(inputs *in)
{
    if (hashmap_count(in->taken))
        hashmap_clear(in->taken);
}

cJSON *inputs_take(inputs *in, const char *path)
{
    struct stat st;
    char hex[SHA256_HEX];
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !filestate_add(in->taken, path, &st))
        return NULL;
    cJSON *input = cJSON_CreateObject();
    json_set_int(input, "size", st.st_size);
    AUTO_BUF changed = {0};
    clock_rfc3339(&changed, (int64_t)st.st_mtim.tv_sec * CLOCK_SEC, CLOCK_SECONDS);
    if (st.st_size <= DIGESTED_MAX && sha256_file(path, hex, NULL) == 0)
        json_set_str(input, "sha256", hex);
    else
        json_set_str(input, "mtime", buf_cstr(&changed));
    return input;
}
