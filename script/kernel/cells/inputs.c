// SPDX-License-Identifier: MIT
#include "script/kernel/cells/inputs.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/filestate.h"

#include <string.h>
#include <sys/stat.h>

enum {
    DIGESTED_MAX = 16 << 20,
    LEFT_DIGESTED_MAX = 256 << 20,
    FRESH_MS = 20,
    PATIENCE_S = 30,        // time for all digests of one execution: a disk may be slow
    STOPPED_PATIENCE_S = 3, // the same, after it was stopped
};

struct inputs {
    hashmap *taken, *left; // files by state: those recorded, and those written
    int64_t digested;      // bytes of the files that the execution has written
    hashmap *variables;
    const turn *turn;        // of the execution
    int64_t rest, stop_rest; // ns left for digests
    int64_t looked;          // mono ns
    bool stopped;
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

void inputs_begin(inputs *in, const turn *t)
{
    in->turn = t;
    in->rest = PATIENCE_S * CLOCK_SEC;
    in->stop_rest = STOPPED_PATIENCE_S * CLOCK_SEC;
    in->stopped = false;
    if (hashmap_count(in->taken))
        hashmap_clear(in->taken);
    if (hashmap_count(in->variables))
        hashmap_clear(in->variables);
    in->digested = 0;
}

void inputs_stopped(inputs *in)
{
    in->stopped = true;
}

// Between pieces of a file.
static bool goes_on(void *arg)
{
    inputs *in = arg;
    int64_t now = clock_mono(), took = now - in->looked;
    in->looked = now;
    in->rest -= took;
    if (in->stopped || turn_stopped(in->turn))
        in->stop_rest -= took;
    return in->rest > 0 && in->stop_rest > 0;
}

static bool digest(inputs *in, const char *path, char hex[SHA256_HEX])
{
    int64_t size;
    in->looked = clock_mono();
    return goes_on(in) &&
           sha256_read(path, &(struct work_watch){NULL, goes_on, in}, &size, hex, NULL) == 0;
}

static cJSON *state_of(inputs *in, const char *path, const struct stat *st, int64_t digested_max)
{
    char hex[SHA256_HEX];
    cJSON *input = cJSON_CreateObject();
    json_set_int(input, "size", st->st_size);
    AUTO_BUF changed = {0};
    clock_rfc3339(&changed, (int64_t)st->st_mtim.tv_sec * CLOCK_SEC, CLOCK_SECONDS);
    if (st->st_size <= digested_max && digest(in, path, hex))
        json_set_str(input, "sha256", hex);
    else
        json_set_str(input, "mtime", buf_cstr(&changed));
    return input;
}

static bool is_file(const char *path, struct stat *st)
{
    return stat(path, st) == 0 && S_ISREG(st->st_mode);
}

cJSON *inputs_take(inputs *in, const char *path)
{
    struct stat st;
    if (!is_file(path, &st) || !filestate_add(in->taken, path, &st))
        return NULL;
    return state_of(in, path, &st, DIGESTED_MAX);
}

bool inputs_opened(inputs *in, const char *path, bool *fresh, bool *other)
{
    struct stat st;
    if (!is_file(path, &st))
        return false;
    int64_t changed = (int64_t)st.st_mtim.tv_sec * CLOCK_SEC + st.st_mtim.tv_nsec;
    *other = filestate_add(in->left, path, &st);
    *fresh = clock_wall() - changed < FRESH_MS * CLOCK_MS;
    return true;
}

cJSON *inputs_left(inputs *in, const char *path, bool sure)
{
    struct stat st;
    if (!is_file(path, &st))
        return NULL;
    bool other = filestate_add(in->left, path, &st);
    if (!other && !sure)
        return NULL;
    int64_t rest = LEFT_DIGESTED_MAX - in->digested;
    cJSON *left = state_of(in, path, &st, rest < DIGESTED_MAX ? rest : DIGESTED_MAX);
    if (json_get(left, "sha256"))
        in->digested += st.st_size;
    return left;
}

bool inputs_variable(inputs *in, const char *name)
{
    size_t before, n = strlen(name);
    bool known = hashmap_get(in->variables, name, n, &before);
    if (!known)
        hashmap_set(in->variables, name, n, 1);
    return !known;
}
