// SPDX-License-Identifier: MIT
#include "trainer/dist/pmi.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char kvsname[] = "job";
static const char mapping_key[] = "PMI_process_mapping";

enum { BUCKETS = 1024 };

// The keys and values, chained by hash.
struct pair {
    struct pair *next;
    char *key, *value;
};

struct client {
    buf in; // an incomplete line
    bool started, waits, done;
};

struct pmi {
    int size, waiting;
    size_t pairs;
    struct pmi_answers answers;
    struct pair *buckets[BUCKETS];
    struct client *clients;
};

static struct pair **bucket_of(pmi *p, const char *key)
{
    uint32_t hash = 2166136261U;
    for (; *key; key++)
        hash = (hash ^ (uint8_t)*key) * 16777619U;
    return &p->buckets[hash % BUCKETS];
}

static struct pair *find(pmi *p, const char *key)
{
    struct pair *pair = *bucket_of(p, key);
    while (pair && strcmp(pair->key, key) != 0)
        pair = pair->next;
    return pair;
}

static void put(pmi *p, const char *key, const char *value)
{
    struct pair *pair = find(p, key), **bucket = bucket_of(p, key);
    if (!pair) {
        pair = mem_alloc(sizeof *pair);
        *pair = (struct pair){.next = *bucket, .key = mem_strdup(key)};
        *bucket = pair;
        p->pairs++;
    }
    free(pair->value);
    pair->value = mem_strdup(value);
}

char *pmi_mapping(int size, int slots)
{
    slots = slots > 0 && slots < size ? slots : size;
    int full = size / slots, rest = size % slots;
    return rest ? str_fmt("(vector,(0,%d,%d),(%d,1,%d))", full, slots, full, rest)
                : str_fmt("(vector,(0,%d,%d))", full, slots);
}

pmi *pmi_new(int size, int slots, struct pmi_answers answers)
{
    pmi *p = mem_alloc(sizeof *p);
    *p = (pmi){.size = size, .answers = answers};
    p->clients = mem_array((size_t)size, sizeof *p->clients);
    AUTO_FREE char *mapping = pmi_mapping(size, slots);
    put(p, mapping_key, mapping);
    return p;
}

void pmi_free(pmi *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct pair *pair = p->buckets[i], *next; pair; pair = next) {
            next = pair->next;
            free(pair->key);
            free(pair->value);
            free(pair);
        }
    }
    for (int i = 0; i < p->size; i++)
        buf_done(&p->clients[i].in);
    free(p->clients);
    free(p);
}

static int say(pmi *p, int rank, err *e, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static int say(pmi *p, int rank, err *e, const char *fmt, ...)
{
    AUTO_BUF line = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&line, fmt, args);
    va_end(args);
    buf_char(&line, '\n');
    return p->answers.say(p->answers.ctx, rank, line.data, line.len, e);
}

// Copies the value of "name=value" in a line into `out`: up to a space, or to the end for put's
// value.
static int field(const char *line, const char *name, char *out, size_t size, err *e)
{
    size_t n = strlen(name);
    bool rest = strcmp(name, "value") == 0;
    for (const char *at = line; *at;) {
        size_t length = strcspn(at, " ");
        if (strncmp(at, name, n) == 0 && at[n] == '=') {
            const char *value = at + n + 1;
            length = rest ? strlen(value) : strcspn(value, " ");
            if (length >= size)
                return err_set(
                    e, ERR_LIMIT, "%s of %zu bytes is longer than %zu", name, length, size - 1);
            memcpy(out, value, length);
            out[length] = 0;
            return 0;
        }
        at += length;
        at += strspn(at, " ");
    }
    return err_set(e, ERR_INVALID, "no %s", name);
}

typedef int answer(pmi *p, int rank, const char *line, err *e);

static int on_init(pmi *p, int rank, const char *line, err *e)
{
    char version[16];
    if (field(line, "pmi_version", version, sizeof version, e))
        return -1;
    if (!str_eq(version, "1"))
        return err_set(e, ERR_INVALID, "version %s of PMI, and not 1", version);
    p->clients[rank].started = true;
    return say(p, rank, e, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
}

static int on_get_maxes(pmi *p, int rank, const char *line, err *e)
{
    return say(p, rank, e, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d", PMI_KVSNAME_MAX,
        PMI_KEY_MAX, PMI_VALUE_MAX);
}

static int on_get_appnum(pmi *p, int rank, const char *line, err *e)
{
    return say(p, rank, e, "cmd=appnum appnum=0");
}

static int on_get_universe_size(pmi *p, int rank, const char *line, err *e)
{
    return say(p, rank, e, "cmd=universe_size size=%d", p->size);
}

static int on_get_my_kvsname(pmi *p, int rank, const char *line, err *e)
{
    return say(p, rank, e, "cmd=my_kvsname kvsname=%s", kvsname);
}

// Reads kvsname and key of put and get.
static int take_key(const char *line, char key[PMI_KEY_MAX], err *e)
{
    char name[PMI_KVSNAME_MAX];
    if (field(line, "kvsname", name, sizeof name, e) || field(line, "key", key, PMI_KEY_MAX, e))
        return -1;
    return str_eq(name, kvsname) ? 0 : err_set(e, ERR_INVALID, "no space of keys named %s", name);
}

static int on_put(pmi *p, int rank, const char *line, err *e)
{
    char key[PMI_KEY_MAX], value[PMI_VALUE_MAX];
    if (take_key(line, key, e) || field(line, "value", value, sizeof value, e))
        return -1;
    if (str_eq(key, mapping_key))
        return err_set(e, ERR_INVALID, "%s is the driver's to say", key);
    if (p->pairs >= (size_t)p->size * PMI_KEYS_PER_RANK && !find(p, key))
        return err_set(e, ERR_LIMIT, "more than %d keys for each rank", PMI_KEYS_PER_RANK);
    put(p, key, value);
    return say(p, rank, e, "cmd=put_result rc=0 msg=success");
}

static int on_get(pmi *p, int rank, const char *line, err *e)
{
    char key[PMI_KEY_MAX];
    if (take_key(line, key, e))
        return -1;
    const struct pair *pair = find(p, key);
    return pair ? say(p, rank, e, "cmd=get_result rc=0 msg=success value=%s", pair->value)
                : say(p, rank, e, "cmd=get_result rc=-1 msg=not_found value=unknown");
}

static int on_barrier_in(pmi *p, int rank, const char *line, err *e)
{
    if (p->clients[rank].waits)
        return err_set(e, ERR_INVALID, "it is in the barrier already");
    p->clients[rank].waits = true;
    if (++p->waiting < p->size)
        return 0;
    p->waiting = 0;
    for (int i = 0; i < p->size; i++)
        p->clients[i].waits = false;
    for (int i = 0; i < p->size; i++) {
        if (say(p, i, e, "cmd=barrier_out"))
            return -1;
    }
    return 0;
}

static int on_finalize(pmi *p, int rank, const char *line, err *e)
{
    p->clients[rank].done = true;
    return say(p, rank, e, "cmd=finalize_ack");
}

static int on_abort(pmi *p, int rank, const char *line, err *e)
{
    char code[16] = "1";
    err none;
    field(line, "exitcode", code, sizeof code, &none);
    return err_set(e, ERR_FAILED, "rank %d gave up: MPI has ended it with code %s", rank, code);
}

//  X(name)
#define COMMANDS(X)                                                                                \
    X(init)                                                                                        \
    X(get_maxes)                                                                                   \
    X(get_appnum)                                                                                  \
    X(get_universe_size)                                                                           \
    X(get_my_kvsname)                                                                              \
    X(put)                                                                                         \
    X(get)                                                                                         \
    X(barrier_in)                                                                                  \
    X(finalize)                                                                                    \
    X(abort)

static const struct {
    const char *name;
    answer *call;
} commands[] = {
#define X(name) {#name, on_##name},
    COMMANDS(X)
#undef X
};

static int obey(pmi *p, int rank, const char *line, err *e)
{
    char name[32];
    if (field(line, "cmd", name, sizeof name, e))
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (!str_eq(commands[i].name, name))
            continue;
        bool under_way = p->clients[rank].started && !p->clients[rank].done;
        if (!under_way && commands[i].call != on_init && commands[i].call != on_abort)
            return err_set(e, ERR_INVALID, "%s before init or after finalize", name);
        return commands[i].call(p, rank, line, e);
    }
    return err_set(e, ERR_INVALID, "no command is named %s", name);
}

// Takes a line without its newline. If it is not PMI-1, the error quotes its start.
static int hear_line(pmi *p, int rank, const char *line, size_t n, err *e)
{
    err why;
    if (memchr(line, 0, n))
        err_set(&why, ERR_INVALID, "there is a NUL in it");
    else if (obey(p, rank, line, &why) == 0)
        return 0;
    if (why.code != ERR_INVALID && why.code != ERR_LIMIT) // the error is not about this line
        return err_set(e, why.code, "%s", why.text);
    AUTO_FREE char *text = mem_strndup(line, n);
    return err_set(e, why.code, "rank %d sent what is not PMI-1: %s (\"%s\")", rank, why.text,
        str_short(text, 60).text);
}

int pmi_hear(pmi *p, int rank, const char *bytes, size_t n, err *e)
{
    buf *in = &p->clients[rank].in;
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t length = end ? (size_t)(end - bytes) : n;
        if (in->len + length > PMI_LINE_MAX)
            return err_set(e, ERR_LIMIT,
                "rank %d sent what is not PMI-1: a line longer than %d bytes", rank, PMI_LINE_MAX);
        buf_add(in, bytes, length);
        if (!end)
            return 0;
        int result = hear_line(p, rank, buf_cstr(in), in->len, e);
        buf_clear(in);
        if (result)
            return -1;
        bytes = end + 1;
        n -= length + 1;
    }
    return 0;
}
