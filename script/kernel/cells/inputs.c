// SPDX-License-Identifier: MIT
#include "script/kernel/cells/inputs.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/filestate.h"
#include "base/mem.h"

#include <string.h>
#include <sys/stat.h>

enum { DIGESTED_MAX = 16 << 20 };

struct inputs {
    hashmap *taken, *left; // files in a state: those that are recorded, and those that were written
    hashmap *variables;
};

inputs *inputs_new(void)
{
    inputs *in = mem_alloc(sizeof *in);
    in->taken = hashmap_new();
    in->left = hashmap_new();
    in->variables = hashmap_new();
    return in;
}

void inputs_free(inputs *in)
{
    if (!in)
        return;
    hashmap_free(in->taken);
    hashmap_free(in->left);
    hashmap_free(in->variables);
    free(in);
}

void inputs_forget(inputs *in)
{
    if (hashmap_count(in->taken))
        hashmap_clear(in->taken);
    if (hashmap_count(in->variables))
        hashmap_clear(in->variables);
}

static cJSON *state_of(const char *path, const struct stat *st)
{
    char hex[SHA256_HEX];
    cJSON *input = cJSON_CreateObject();
    json_set_int(input, "size", st->st_size);
    AUTO_BUF changed = {0};
    clock_rfc3339(&changed, (int64_t)st->st_mtim.tv_sec * CLOCK_SEC, CLOCK_SECONDS);
    if (st->st_size <= DIGESTED_MAX && sha256_file(path, hex, NULL) == 0)
        json_set_str(input, "sha256", hex);
    else
        json_set_str(input, "mtime", buf_cstr(&changed));
    return input;
}

cJSON *inputs_take(inputs *in, const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !filestate_add(in->taken, path, &st))
        return NULL;
    return state_of(path, &st);
}

cJSON *inputs_left(inputs *in, const char *path, bool still)
{
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return NULL;
    bool other = filestate_add(in->left, path, &st);
    return other || !still ? state_of(path, &st) : NULL;
}

bool inputs_variable(inputs *in, const char *name)
{
    size_t before, n = strlen(name);
    bool known = hashmap_get(in->variables, name, n, &before);
    if (!known)
        hashmap_set(in->variables, name, n, 1);
    return !known;
}
